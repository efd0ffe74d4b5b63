"""The named mistakes of lesson 04: what people get wrong about log-sum-exp, merging and rebuilding P.

In sympy for the symbolic answers, in torch for the others; where torch cannot say it, the mistake is
one of faulty_kernels. `logsumexp` of faulty_formulas is the kernel's loop in torch, with faults by name.
"""
# ruff: noqa: E741  (l is the sum's name in the papers, in the lesson and in the kernels)

from __future__ import annotations

import functools
import math

import sympy as sp
import torch
from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_04_logsumexp import faulty_kernels as broken
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, tiled, with_faults
from flashlearn.lessons.shared.faulty_formulas.rows import logsumexp
from flashlearn.outcome import Status

# ---------------------------------------------------------------- one number instead of two


def _identity(lse=lambda m, l: m + sp.log(l), p=lambda s, m, l, value: sp.exp(s - value)):
    """A wrong answer from its lse(m, l), and its p(s_j, m, l, lse)."""

    def answer(s, m, l):
        value = lse(m, l)
        return value, s.applyfunc(lambda s_j: p(s_j, m, l, value))

    return answer


def _by_lse(lse) -> dict:
    """A wrong LSE, and p made from it or, right, without it."""
    return {
        "wrong": _identity(lse),
        "also": (_identity(lse, lambda s, m, l, value: sp.exp(s - m) / l),),
    }


LSE_IDENTITY = {
    "logarithm of l forgotten": Mistake(
        "Your LSE is m + l. The sum is exp(m) · l, and the logarithm of a product is the sum of the "
        "logarithms.",
        "Take the logarithm of both factors: log exp(m) is m. What is the other?",
        **_by_lse(lambda m, l: m + l),
    ),
    "maximum not added back": Mistake(
        "Your LSE is log l, the logarithm of the sum after m was subtracted from every score.",
        "Σ exp(s_j) = exp(m) · l: the factor that was taken out has to come back in.",
        **_by_lse(lambda m, l: sp.log(l)),
    ),
    "logarithm of m + l": Mistake(
        "Your LSE is log(m + l). Of m + log l it is the exponent m that already is a logarithm.",
        "Write the sum as exp(m) · l, then take the logarithm factor by factor.",
        **_by_lse(lambda m, l: sp.log(m + l)),
    ),
    "m times log l": Mistake(
        "Your LSE is m · log l. The logarithm turns the product exp(m) · l into a sum.",
        "log(a · b) = log a + log b.",
        **_by_lse(lambda m, l: m * sp.log(l)),
    ),
    "minus log l": Mistake(
        "Your LSE is m − log l: it would fall when a score is added.",
        "Every further score makes the sum larger, and its logarithm with it.",
        **_by_lse(lambda m, l: m - sp.log(l)),
    ),
    "maximum subtracted": Mistake(
        "Your LSE is log l − m: the maximum has the wrong sign.",
        "exp(s_j) = exp(m) · exp(s_j − m): by which factor is l too small, and what is its logarithm?",
        **_by_lse(lambda m, l: sp.log(l) - m),
    ),
    "base-2 logarithm": Mistake(
        "Your LSE adds log2 l to m, which is a natural logarithm: the two do not fit together.",
        "Use sp.log(l).",
        **_by_lse(lambda m, l: m + sp.log(l) / sp.log(2)),
    ),
    "divided by the LSE": Mistake(
        "p is exp(s_j) / LSE. The LSE is the logarithm of the denominator.",
        "Dividing by exp(LSE) is subtracting LSE in the exponent.",
        wrong=_identity(p=lambda s, m, l, value: sp.exp(s) / value),
    ),
    "normalised twice": Mistake(
        "p is exp(s_j − LSE) / l: it was divided by the row's sum once already.",
        "The LSE has l in it. Nothing remains to be divided.",
        wrong=_identity(p=lambda s, m, l, value: sp.exp(s - value) / l),
    ),
    "p without the maximum": Mistake(
        "p is exp(s_j) / l: l is a sum of exp(s_j − m), so your p is exp(m) times too large.",
        "Subtract the whole LSE in the exponent: it holds both m and log l.",
        wrong=_identity(p=lambda s, m, l, value: sp.exp(s) / l),
    ),
}

# ---------------------------------------------------------------- merging, in sympy


def _merged(weight_a, weight_b, maximum=sp.Max, on_l=True, on_acc=True):
    """A merge with other weights; on_l and on_acc say what is rescaled at all."""

    def answer(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = maximum(m_a, m_b)
        w_a, w_b = weight_a(m, m_a, m_b), weight_b(m, m_a, m_b)
        l = w_a * l_a + w_b * l_b if on_l else l_a + l_b
        acc = acc_a * w_a + acc_b * w_b if on_acc else acc_a + acc_b
        return m, l, acc

    return answer


def _of_a(m, m_a, m_b):
    return sp.exp(m_a - m)


def _of_b(m, m_a, m_b):
    return sp.exp(m_b - m)


def _onto_b(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Part a brought to b's unit, and b left as it is."""
    w = sp.exp(m_a - m_b)
    return m_b, w * l_a + l_b, w * acc_a + acc_b


def _taken_for_outputs(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Each part's acc weighted with its l, and divided by the new one: the merge of two O."""
    m, l, _ = _merged(_of_a, _of_b)(m_a, l_a, acc_a, m_b, l_b, acc_b)
    w_a, w_b = _of_a(m, m_a, m_b) * l_a, _of_b(m, m_a, m_b) * l_b
    return m, l, (acc_a * w_a + acc_b * w_b) / l


def _merged_outputs(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """The right m and l, and O in place of acc."""
    m, l, acc = _merged(_of_a, _of_b)(m_a, l_a, acc_a, m_b, l_b, acc_b)
    return m, l, acc / l


SENTENCES = {
    "nothing rescaled": (
        "You added l and acc as they are. They are counted in different units: l_a in units of exp(m_a), "
        "l_b in units of exp(m_b).",
        "Bring both to the unit exp(m) first: by which factor does l_a change?",
    ),
    "acc not rescaled": (
        "l is rescaled and acc is not: acc is a sum of the same exponentials, each times a value.",
        "acc takes the same two factors as l.",
    ),
    "l not rescaled": (
        "acc is rescaled and l is not: their quotient is then no mean of values.",
        "l takes the same two factors as acc.",
    ),
    "one part left out": (
        "l and acc hold one part's share alone: the other part is missing.",
        "The sums go over the scores of both parts. How many terms has each?",
    ),
    "weights exchanged": (
        "Each part is multiplied by the other part's factor.",
        "l_a was summed with m_a subtracted: its factor has m_a in it.",
    ),
    "exponents with the other sign": (
        "The factors are exp(m − m_a) and exp(m − m_b): the exponents have the wrong sign.",
        "exp(s − m_a) · exp(m_a − m) = exp(s − m): m_a has to cancel, and a factor is at most 1.",
    ),
    "weights without exp": (
        "The factors are m_a − m and m_b − m themselves, without the exponential.",
        "exp(s − m_a) · exp(m_a − m) = exp(s − m): the factor is an exponential.",
    ),
}

MERGE = {
    "nothing rescaled": Mistake(
        *SENTENCES["nothing rescaled"], wrong=_merged(_of_a, _of_b, on_l=False, on_acc=False)
    ),
    "acc not rescaled": Mistake(*SENTENCES["acc not rescaled"], wrong=_merged(_of_a, _of_b, on_acc=False)),
    "l not rescaled": Mistake(*SENTENCES["l not rescaled"], wrong=_merged(_of_a, _of_b, on_l=False)),
    "weights exchanged": Mistake(*SENTENCES["weights exchanged"], wrong=_merged(_of_b, _of_a)),
    "exponents with the other sign": Mistake(
        *SENTENCES["exponents with the other sign"],
        wrong=_merged(lambda m, m_a, m_b: sp.exp(m - m_a), lambda m, m_a, m_b: sp.exp(m - m_b)),
    ),
    "weights without exp": Mistake(
        *SENTENCES["weights without exp"],
        wrong=_merged(lambda m, m_a, m_b: m_a - m, lambda m, m_a, m_b: m_b - m),
    ),
    "the smaller maximum": Mistake(
        "m is the smaller of the two. The sums fit it, so the value is right in exact arithmetic; but the "
        "exponentials are then as large as exp(m_a − m_b), and that overflows.",
        "Take sp.Max, so that both factors are at most 1.",
        wrong=_merged(_of_a, _of_b, maximum=sp.Min),
    ),
    "one part's maximum for both": Mistake(
        "m is one part's maximum, even where the other's is larger. The sums fit it, so the value is right "
        "in exact arithmetic; but the other part's factor overflows where its maximum is larger.",
        "Either part may hold the larger score: take sp.Max of the two.",
        wrong=_merged(_of_a, _of_b, maximum=lambda m_a, m_b: m_b),
        also=(
            _merged(_of_a, _of_b, maximum=lambda m_a, m_b: m_a),
            _onto_b,
            lambda m_a, l_a, acc_a, m_b, l_b, acc_b: _onto_b(m_b, l_b, acc_b, m_a, l_a, acc_a),
        ),
    ),
    "one part left out": Mistake(
        *SENTENCES["one part left out"],
        wrong=_merged(lambda m, m_a, m_b: sp.S.Zero, _of_b),
        also=(_merged(_of_a, lambda m, m_a, m_b: sp.S.Zero),),
    ),
    "acc taken for O": Mistake(
        "The two acc are merged as if each were divided by its l already: weighted with l, and divided by "
        "the new l. That is how two O are merged; acc is the sum before the division.",
        "acc is a sum like l, each exponential times a value: by which factor does it change?",
        wrong=_taken_for_outputs,
    ),
    "O in place of acc": Mistake(
        "The third is acc / l: the output, already divided.",
        "Divide once, when everything is merged: a merged acc is a sum.",
        wrong=_merged_outputs,
    ),
}

# ---------------------------------------------------------------- merging, in torch


def merge(m_a, l_a, acc_a, m_b, l_b, acc_b, faults: Faults = NONE) -> tuple[Tensor, Tensor, Tensor]:
    """The merge of two partial results, right or with faults."""
    m = torch.maximum(m_a, m_b)
    shift = m if "no guard" in faults else torch.where(m == -math.inf, 0.0, m)
    w_a, w_b = (m_a - shift).exp(), (m_b - shift).exp()
    if "exchanged" in faults:
        w_a, w_b = w_b, w_a
    l = l_a + l_b if faults & {"nothing", "l"} else w_a * l_a + w_b * l_b
    acc = w_a.unsqueeze(-1) * acc_a + w_b.unsqueeze(-1) * acc_b
    if faults & {"nothing", "acc"}:
        acc = acc_a + acc_b
    if "larger part only" in faults:
        first = m_a >= m_b
        l, acc = torch.where(first, l_a, l_b), torch.where(first.unsqueeze(-1), acc_a, acc_b)
    if "a left out" in faults:
        l, acc = w_b * l_b, w_b.unsqueeze(-1) * acc_b
    if "b left out" in faults:
        l, acc = w_a * l_a, w_a.unsqueeze(-1) * acc_a
    if "halved" in faults:
        l, acc = l / 2, acc / 2
    if "mean under the weights" in faults:
        both = torch.where(w_a + w_b == 0, 1.0, w_a + w_b)
        l, acc = l / both, acc / both.unsqueeze(-1)
    if "acc alone averaged" in faults:
        acc = acc / torch.where(w_a + w_b == 0, 1.0, w_a + w_b).unsqueeze(-1)
    if "divided" in faults:
        acc = acc / torch.where(l == 0, 1.0, l).unsqueeze(-1)
    return (shift if "shift" in faults else m), l, acc


def _merge_without_maximum(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Everything in units of exp(0), as fp32 computes it."""
    dtype = m_a.dtype
    e_a, e_b = m_a.float().exp(), m_b.float().exp()
    l = (e_a * l_a.float() + e_b * l_b.float()).to(dtype)
    acc = e_a.unsqueeze(-1) * acc_a.float() + e_b.unsqueeze(-1) * acc_b.float()
    return torch.zeros_like(m_a), l, acc.to(dtype)


def _faulty(fault: str):
    return functools.partial(merge, faults=frozenset({fault}))


MERGE_TORCH = {
    "the empty merge is not guarded": Mistake(
        "Where both parts are empty, m is −inf, and m_a − m is −inf + inf: NaN. Everywhere else it is right.",
        "Subtract a number that is finite: 0 where m is −inf. The weights are then exp(−inf) = 0.",
        wrong=_faulty("no guard"),
    ),
    "the guard's 0 is returned": Mistake(
        "Where both parts are empty you return m = 0, the number that the guard subtracts. An empty part has "
        "m = −inf: with 0 it would outweigh a part whose maximum is negative.",
        "Use the guarded m in the exponents only, and return the maximum itself.",
        wrong=_faulty("shift"),
    ),
    "nothing rescaled": Mistake(*SENTENCES["nothing rescaled"], wrong=_faulty("nothing")),
    "acc not rescaled": Mistake(*SENTENCES["acc not rescaled"], wrong=_faulty("acc")),
    "l not rescaled": Mistake(*SENTENCES["l not rescaled"], wrong=_faulty("l")),
    "weights exchanged": Mistake(*SENTENCES["weights exchanged"], wrong=_faulty("exchanged")),
    "O in place of acc": Mistake(
        "The third is acc / l: the output, already divided.",
        "Divide once, when everything is merged: a merged acc is a sum.",
        wrong=_faulty("divided"),
    ),
    "the other part dropped": Mistake(
        "You kept the part with the larger maximum, and dropped the other, whose scores count all the same.",
        "Both parts stay in the sum, each with its factor. How large is the smaller part's?",
        wrong=_faulty("larger part only"),
    ),
    "one part left out": Mistake(
        *SENTENCES["one part left out"], wrong=_faulty("a left out"), also=(_faulty("b left out"),)
    ),
    "halves": Mistake(
        "You halved the sums. l and acc are sums over all scores, and the merged ones are sums, too.",
        "Add the rescaled parts, and divide by nothing.",
        wrong=_faulty("halved"),
    ),
    "averaged under the weights": Mistake(
        "You divided by the sum of the two factors, as for a weighted mean. The factors only bring both "
        "parts to one unit: what is merged is a sum.",
        "Add the rescaled parts, and divide by nothing.",
        wrong=_faulty("mean under the weights"),
        also=(_faulty("acc alone averaged"),),
    ),
    "maximum left out": Mistake(
        "You brought everything to the unit exp(0): exp(m_a) overflows where the scores are large, and is 0 "
        "where they are far below zero.",
        "The unit is exp(m), m the larger of the two maxima.",
        wrong=_merge_without_maximum,
    ),
}

# ---------------------------------------------------------------- the scan


def _scan(*faults: str, also: tuple[str, ...] = ()) -> dict:
    return with_faults(logsumexp, *faults, also=also)


ONLINE = {
    "l not rescaled": Mistake(
        "l is not rescaled when the maximum moves: the sum of the earlier blocks still is in units of "
        "exp(m_old). The same happens if m_i is overwritten before the factor is computed from it: "
        "exp(m_i − m_new) is then exp(0).",
        "Multiply l_i by exp(m_i − m_new), with the m_i from before the block, then add the block's sum.",
        **_scan("l not rescaled"),
    ),
    "maximum not subtracted": Mistake(
        "The exponentials are taken of the scores as they are: exp(89) is already infinite in fp32, and a "
        "row far below zero sums to 0, whose logarithm is −inf.",
        "Carry the maximum along, and exponentiate x − m_new.",
        **_scan("no maximum"),
    ),
    "maximum of the first block only": Mistake(
        "The maximum is the first block's. In exact arithmetic any number may be subtracted; in fp32 a later "
        "score that is 89 larger makes the sum infinite.",
        "Let every block raise the maximum: tl.maximum(m_i, tl.max(x, axis=0)).",
        **_scan("first block's maximum"),
    ),
    "the block's own maximum": Mistake(
        "m_new is the maximum of the block alone, so it can fall: then exp(m_i − m_new) is larger than 1, "
        "overflows for a fall of 89, and a block of −inf loses what came before it.",
        "The maximum of what was seen so far never falls: tl.maximum(m_i, tl.max(x, axis=0)).",
        **_scan("block's own maximum"),
    ),
    "maximum not added back": Mistake(
        "You stored log l, the logarithm of the sum of exp(x − m).",
        "LSE = m_i + log(l_i).",
        **_scan("m not added"),
    ),
    "logarithm of l forgotten": Mistake(
        "You stored m + l, the maximum and the sum itself.",
        "LSE = m_i + log(l_i): the logarithm of exp(m_i) · l_i.",
        **_scan("no logarithm"),
    ),
    "base-2 logarithm": Mistake(
        "You added log2 of l to a maximum in natural units.",
        "Use tl.log. If you work in powers of two, multiply the result by ln 2 at the end.",
        **_scan("base 2"),
    ),
    "only the last block": Mistake(
        "The result is that of the row's last block alone: each block overwrites what was carried.",
        "m_new is the larger of m_i and the block's maximum, and l_i is rescaled and added to.",
        **_scan("last tile only"),
    ),
    "last block left out": Mistake(
        "The columns of the row's last block are missing: the loop ends one block early.",
        "for start in range(0, N, BLOCK) reaches them; the mask hides what lies beyond N.",
        **_scan("ragged tile left out", also=("last tile left out",)),
    ),
    "padding enters the sum": Mistake(
        "The padded lanes of the last block count as scores of 0: each adds exp(0 − m).",
        "Give the load an other= that changes neither a maximum nor a sum of exponentials.",
        **_scan("zeros for padding"),
    ),
    "a finite number for −inf": Mistake(
        "The padding of the last block is a large negative number, where −inf belongs. In a row that shows "
        "nothing but −inf that number is the maximum, and the padded lanes are all that is counted.",
        'Give the load other=-float("inf"): it loses against every maximum, and its exponential is 0.',
        **_scan("filler −10^4", also=("filler −10^6", "filler −10^9", "filler −10^30")),
    ),
    "maximum starts at 0": Mistake(
        "The running maximum starts at 0 instead of −inf. In exact arithmetic any number may be subtracted; "
        "in fp32 all exponentials of a row far below zero vanish, and log 0 is −inf.",
        'Start m_i at -float("inf"), the neutral element of a maximum.',
        **_scan("m from 0"),
    ),
    "lanes not brought together": Mistake(
        "Each lane carries a maximum and a sum of its own, and at the end the sums are added as they are. "
        "They are counted in different units, exp(m) of each lane.",
        "Multiply each lane's sum by exp(m_lane − m), with m the largest of the lanes' maxima, and add then.",
        **_scan("lanes apart"),
    ),
    "−inf minus −inf": Mistake(
        "As long as a row has shown nothing but −inf, m_new is −inf, and x − m_new is −inf + inf: NaN, which "
        "stays in l_i to the end.",
        "Subtract a number that is finite: tl.where(m_new == -inf, 0.0, m_new).",
        **_scan("no guard"),
    ),
    "columns one apart": Mistake(
        "The kernel reads columns that are one element apart. In a transposed view they are x_col apart.",
        "Column j of row i is at x_ptr + i * x_row + j * x_col.",
        launcher=broken.online_with_columns_one_apart,
    ),
    "exponentials in half precision": Mistake(
        "The block's exponentials and their sum are rounded to x's own precision: 11 bits for fp16, 8 for "
        "bf16, where fp32 keeps 24. The result is fp32 and shows it.",
        "Convert right after the load: .to(tl.float32).",
        launcher=broken.online_in_half_precision,
    ),
    "load without a mask": Mistake(
        "The last block touches all BLOCK lanes: those from column N on lie beyond the row, and in the last "
        "row beyond the tensor.",
        "Pass mask=j < N to the load, and other=-float('inf').",
        launcher=broken.online_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
}

ROW_IN_ONE_BLOCK = (
    "The numbers are right, but the whole row is held in one block: a row of {columns} scores is loaded in "
    "one piece. Such a kernel ends where the registers of a program do. Here the block has to be shorter "
    "than the row: a loop, and two numbers that are carried along."
)
READ_AGAIN = (
    "The numbers are right, but the row is read more than once: for a row of {asked} bytes your kernels "
    "request {requested}. In attention the scores are gone when the next tile comes. Carry the maximum and "
    "the sum in one loop, and bring the sum to the new unit whenever the maximum moves."
)
"""Two ways to the right numbers that are not what lesson 04 is about: `exercises.one_pass` finds them."""

# ---------------------------------------------------------------- P from LSE


def _finite(lse: Tensor) -> Tensor:
    return torch.where(lse == -math.inf, 0.0, lse).unsqueeze(1)


@tiled(frozenset({"softmax of the tile"}))
def _tilewise_softmax(
    s: Tensor, lse: Tensor, faults: frozenset[str], tile: tuple[int, int] = (32, 32)
) -> Tensor:
    """Each tile divided by its sum: of exp(s − its maximum), or of exp(s − lse), which may vanish in fp32."""
    tiles = s.split(tile[1], dim=1)
    if "after lse" not in faults:
        return torch.cat([reference.softmax(part) for part in tiles], dim=1)
    shares = [(part - _finite(lse)).float().exp() for part in tiles]
    shares = [e / e.sum(dim=1, keepdim=True) for e in shares]
    return torch.cat(shares, dim=1).nan_to_num(0.0).to(s.dtype)


RECOMPUTE = {
    "lse not subtracted": Mistake(
        "You stored exp(s): the numerators of the softmax, not divided by anything.",
        "P = exp(s − lse): subtract the row's lse before the exponential.",
        wrong=lambda s, lse: s.float().exp().to(s.dtype),
    ),
    "divided by lse": Mistake(
        "You stored exp(s) / lse. lse is the logarithm of the denominator.",
        "Dividing by exp(lse) is subtracting lse in the exponent.",
        wrong=lambda s, lse: (s.float().exp() / lse.float().unsqueeze(1)).to(s.dtype),
    ),
    "exponentials apart": Mistake(
        "You stored exp(s) / exp(lse). On paper that is P; in fp32 both overflow beyond 88, and ∞/∞ is NaN.",
        "Subtract first: s − lse is never positive.",
        wrong=lambda s, lse: (s.float().exp() / lse.float().exp().unsqueeze(1)).to(s.dtype),
    ),
    "logarithm of P": Mistake(
        "You stored s − lse, the logarithm of P.",
        "The task asks for the probabilities themselves: exp(s − lse).",
        wrong=lambda s, lse: s - _finite(lse),
    ),
    "powers of two": Mistake(
        "You computed 2^(s − lse): tl.exp2 needs its argument multiplied by log2(e).",
        "Use tl.exp, or tl.exp2((s - lse) * 1.4426950408889634).",
        wrong=lambda s, lse: (s - _finite(lse)).double().exp2().to(s.dtype),
    ),
    "−inf minus −inf": Mistake(
        "A row of nothing but −inf has lse = −inf, and s − lse is −inf + inf: NaN. Its probabilities are 0.",
        "Subtract a number that is finite: tl.where(lse == -inf, 0.0, lse).",
        wrong=lambda s, lse: (s - lse.unsqueeze(1)).exp().to(s.dtype),
    ),
    "softmax of the tile": Mistake(
        "Each tile sums to 1 on its own. The row's sum is that of all its tiles, and lse already has it.",
        "No maximum and no sum here: exp(s − lse) is final.",
        **with_faults(_tilewise_softmax, "softmax of the tile", also=(("softmax of the tile", "after lse"),)),
    ),
    "lse taken by column": Mistake(
        "The kernel reads lse[j]: there is one per row, and where a tile has more columns than there are "
        "rows this reads beyond its end.",
        "lse belongs to rows: load it at i, and broadcast it with [:, None].",
        launcher=broken.recompute_with_lse_by_column,
        status=Status.OUT_OF_BOUNDS,
    ),
    "rows not masked": Mistake(
        "The mask is j < N alone: the last block of rows reaches beyond row M − 1.",
        "A tile has two masks: (i < M)[:, None] & (j < N)[None, :].",
        launcher=broken.recompute_without_row_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of s used for p": Mistake(
        "The store uses the strides of s. p is a new, contiguous tensor: where s is a slice or a transposed "
        "view, the strides differ.",
        "Address p with p_row and p_col.",
        launcher=broken.recompute_with_the_strides_of_s,
        status=Status.OUT_OF_BOUNDS,
    ),
    "stride of lse ignored": Mistake(
        "The kernel reads lse at lse_ptr + i. Where lse is a column of a wider tensor, row i is lse_row · i "
        "elements away.",
        "Address lse with lse_row.",
        launcher=broken.recompute_with_lse_one_apart,
        status=Status.OUT_OF_BOUNDS,
    ),
    "lse in half precision": Mistake(
        "lse is rounded to the precision of s before it is subtracted. An absolute error in an exponent is a "
        "relative error of P: near 100, fp16 has steps of 1/16, which is up to 3 %.",
        "Bring s to fp32, not lse to half precision.",
        launcher=broken.recompute_with_lse_in_half_precision,
    ),
}
