"""The named mistakes of lesson 12: what people get wrong when they make a right kernel fast.

`FORWARD` and `BACKWARD` are those of tuning; what the earlier lessons are about is in `OLDER_FORWARD` and
`OLDER_BACKWARD`, which a check tries after them.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_12_tuning import planning
from flashlearn.lessons.shared import grouped
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula, with_faults
from flashlearn.lessons.shared.named_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.named_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.named_mistakes.dkv import dkv
from flashlearn.lessons.shared.named_mistakes.dq import dq
from flashlearn.lessons.shared.named_mistakes.forward import forward

# ---------------------------------------------------------------- folded_logsumexp


def fold(x: Tensor, lengths: Tensor, alpha: float, faults: Faults = NONE) -> Tensor:
    """log Σ_j exp(alpha x_ij) over j < lengths[i] by powers of two, with faults by name."""
    wide = x if x.dtype == torch.float64 else x.float()
    seen = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    if "alpha comes last" in faults:
        return _alpha_last(wide, seen, alpha)
    hidden = -math.inf if alpha >= 0 else math.inf
    if faults & {"hidden before the scale", "0 · ∞"}:
        hidden = -math.inf
    raw = wide.masked_fill(~seen, hidden)
    c = (abs(alpha) if "|alpha|" in faults else alpha) * math.log2(math.e)
    c = alpha if "no log2 e" in faults else c
    scaled = raw * c
    if not faults & {"hidden before the scale", "0 · ∞"}:
        scaled = scaled.masked_fill(~seen, -math.inf)
    top = scaled.amax(dim=1, keepdim=True)
    if "largest raw product" in faults:
        largest = wide.masked_fill(~seen, -math.inf).amax(dim=1, keepdim=True)
        top = torch.where(largest.isinf(), largest, c * largest)
    top = torch.where(top.isinf(), 0.0, top) if "0 · ∞" not in faults else top
    total = (scaled - top).exp2().sum(dim=1)
    top = top[:, 0]
    if "in base 2" in faults:
        lse = top + total.log2()
    elif "sum in base 2" in faults:
        lse = top * math.log(2) + total.log2()
    elif "maximum in base 2" in faults:
        lse = top + total.log()
    else:
        lse = top * math.log(2) + total.log()
    return lse if wide.dtype == torch.float64 else lse.float()


def _alpha_last(x: Tensor, seen: Tensor, alpha: float) -> Tensor:
    """Hidden elements and the first maximum are −∞, and differences of raw products meet alpha."""
    raw, c = x.masked_fill(~seen, -math.inf), alpha * math.log2(math.e)
    top = raw.amax(dim=1)
    unit = torch.where(top.isinf(), 0.0, top)
    before = torch.zeros_like(unit) * ((-math.inf - unit) * c).exp2()
    total = before + ((raw - unit[:, None]) * c).exp2().sum(dim=1)
    lse = torch.where(total == 0, -math.inf, top * alpha + total.log())
    return lse if x.dtype == torch.float64 else lse.float()


FOLDED = {
    "the largest product for a negative alpha": Mistake(
        "For alpha < 0 the largest raw product gives the smallest score: the exponentials are taken relative "
        "to the row's minimum, and overflow once the scores are some 88 apart.",
        "alpha x = |alpha| (−x): turn the sign of x round, and the largest stays the largest.",
        **with_faults(fold, "largest raw product"),
    ),
    "hidden, then scaled": Mistake(
        "Hidden products are −∞ before they meet a negative factor, which makes +∞ of them: they win the "
        "row.",
        "Let the factor be positive before the mask comes, or mask what is scaled.",
        **with_faults(fold, "hidden before the scale"),
    ),
    "−∞ meets alpha": Mistake(
        "Hidden elements, or the first maximum, are −∞ before alpha is multiplied in: for alpha < 0 that is "
        "+∞, for alpha = 0 it is NaN, and 0 · ∞ or ∞ − ∞ make NaN of the row.",
        "Put alpha's sign into x before anything is hidden or compared, and a positive factor after it.",
        **with_faults(fold, "alpha comes last"),
    ),
    "0 · ∞": Mistake(
        "Where alpha is 0, the factor meets −∞, in a hidden product or in the first maximum: NaN.",
        "Which smallest positive factor would change no result, and is not 0?",
        **with_faults(fold, "0 · ∞"),
    ),
    "log2 e is missing": Mistake(
        "The sum is one of 2^(alpha x): e^y is 2^(y log2 e).",
        "Fold log2 e = 1.4427 into the factor, together with alpha.",
        **with_faults(
            fold, "no log2 e", also=(("no log2 e", "maximum in base 2"), ("no log2 e", "in base 2"))
        ),
    ),
    "LSE in base 2": Mistake(
        "The result is a logarithm to base 2, larger by log2 e: the maximum and the sum are both left there.",
        "Back to natural numbers: the maximum times ln 2, and tl.log of the sum.",
        **with_faults(fold, "in base 2", also=("maximum in base 2", "sum in base 2")),
    ),
    "the sign of alpha is lost": Mistake(
        "The factor is |alpha| log2 e, and the products keep their signs: for alpha < 0 that is another row.",
        "If the factor loses its sign, the products must take it.",
        **with_faults(fold, "|alpha|"),
    ),
}

# ---------------------------------------------------------------- split_loops, heaviest_first, forward_budget


def _split(first: Any, block_q: Any, block_k: Any, S_q: Any, S_k: Any, how: str) -> tuple[Any, Any]:
    """`planning.loop_bounds` with one mistake."""
    whole, end = planning.loop_bounds(first, block_q, block_k, S_q, S_k)
    offset = S_k - S_q
    if how == "by the last query":
        whole = end // block_k * block_k
    if how == "one query short":
        whole = max(0, min(S_k, first + offset)) // block_k * block_k
    if how == "not in tiles":
        whole = max(0, min(S_k, first + 1 + offset))
    if how == "top-left":
        whole = max(0, min(S_k, first + 1)) // block_k * block_k
        end = max(0, min(S_k, first + block_q))
    if how == "end not cut":
        end = max(0, first + block_q + offset)
    if how == "below 0":
        end = min(S_k, first + block_q + offset)
        whole = min(S_k, first + 1 + offset) // block_k * block_k
    return whole, end


def _splits(how: str) -> dict[str, Any]:
    return {"wrong": functools.partial(_split, how=how)}


SPLIT = {
    "whole as far as the last query sees": Mistake(
        "whole goes as far as the block's last query sees. Its first query sees less: in the tiles "
        "between, it would see later keys.",
        "A tile needs no mask if every query of the block sees all of it. Which query sees least?",
        **_splits("by the last query"),
    ),
    "one key short": Mistake(
        "Query i sees the keys up to i + S_k − S_q, that one included: one more than whole counts here.",
        "How many keys does a query see whose last key has number n?",
        **_splits("one query short"),
    ),
    "whole is no multiple of the tile": Mistake(
        "whole is the number of keys that the first query sees, and the loop walks tiles: its last one would "
        "reach beyond.",
        "Round down to whole tiles.",
        **_splits("not in tiles"),
    ),
    "aligned top-left": Mistake(
        "Both bounds are those of a mask j ≤ i. Bottom-right it is j ≤ i + S_k − S_q.",
        "Shift both by S_k − S_q.",
        **_splits("top-left"),
    ),
    "end beyond the last key": Mistake(
        "The block's last query may have a number beyond S_q, and then end lies beyond S_k: tiles that hold "
        "no key are visited.",
        "end is S_k at most.",
        **_splits("end not cut"),
    ),
    "bounds below 0": Mistake(
        "With fewer keys than queries the first blocks see nothing, and a bound is negative.",
        "Both are 0 at least.",
        **_splits("below 0"),
    ),
}


def _lightest_first(pid: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    return pid // heads, pid % heads


def _head_after_head(pid: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    return blocks - 1 - pid % blocks, pid // blocks


def _one_beyond(pid: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    return blocks - pid // heads, pid % heads


ORDER = {
    "lightest first": Mistake(
        "The first programs take the first blocks, which have the least to do; the longest begin last.",
        "The last block of queries sees most keys. Which number does it have?",
        wrong=_lightest_first,
    ),
    "one head after the other": Mistake(
        "The order is right within a head, and the heads follow each other: the last head's heavy blocks "
        "begin when all others are done.",
        "First the heaviest block of every head, then the next of every head.",
        wrong=_head_after_head,
    ),
    "blocks counted from 1": Mistake(
        "The first programs take a block that does not exist, and block 0 is left out.",
        "Blocks have the numbers 0 to blocks − 1.",
        wrong=_one_beyond,
    ),
}


def _budget(block_q: Any, block_k: Any, D: Any, size: Any, stages: Any, warps: Any, how: str) -> tuple:
    """`planning.forward_budget` with one mistake."""
    shared, registers = planning.forward_budget(block_q, block_k, D, size, stages, warps)
    if how == "K alone":
        shared = size * D * (block_q + stages * block_k)
    if how == "Q in every stage":
        shared = size * D * stages * (block_q + 2 * block_k)
    if how == "without Q":
        shared = size * D * 2 * stages * block_k
    if how == "O alone":
        registers = registers * D / (block_k + D)
    if how == "S alone":
        registers = registers * block_k / (block_k + D)
    if how == "per warp":
        registers = registers * 32
    return shared, registers


def _budgets(how: str) -> dict[str, Any]:
    return {"wrong": functools.partial(_budget, how=how)}


BUDGET = {
    "V is not counted": Mistake(
        "A stage holds a tile of K and a tile of V; one of them is counted.",
        "How many tiles does one step of the loop load?",
        **_budgets("K alone"),
    ),
    "Q in every stage": Mistake(
        "Q's tile is counted once per stage. It is loaded before the loop and stays.",
        "Which tiles change from step to step?",
        **_budgets("Q in every stage"),
    ),
    "Q is not counted": Mistake(
        "wgmma reads both operands of Q Kᵀ from shared memory: Q's tile lies there, too.",
        "Count the tiles that the loop reads, not those alone that it loads.",
        **_budgets("without Q"),
    ),
    "S is not counted": Mistake(
        "The sum for O is counted, and the tile of scores is fp32 in registers as well.",
        "What do the two products of a step write?",
        **_budgets("O alone"),
    ),
    "O is not counted": Mistake(
        "The tile of scores is counted, and the sum for O stays in registers through the whole loop.",
        "What do the two products of a step write?",
        **_budgets("S alone"),
    ),
    "per warp, not per thread": Mistake(
        "The numbers are divided by the warps; a warp has 32 threads that share them.",
        "Threads are 32 · warps.",
        **_budgets("per warp"),
    ),
}

# ---------------------------------------------------------------- tuned_forward

_forward = faulty_formula(grouped.faulty_forward)
FORWARD = {
    "alpha folded into the maximum": Mistake(
        "For alpha < 0 the largest q · k gives the smallest score, and the exponentials are taken "
        "relative to it: right while the scores lie within some 88 of each other, then ∞/∞.",
        "alpha x = |alpha| (−x): give the sign to Q, which costs nothing, and fold |alpha|.",
        **_forward("maximum before alpha"),
    ),
    "LSE in base 2": Mistake(
        "LSE is left in base 2, in which the loop computes; the backward pass expects a natural logarithm.",
        "m c ln 2 + ln l: the maximum goes back by ln 2, the sum is what it is.",
        **_forward("lse in base 2", also=("lse mixes bases", "lse mixes bases in m")),
    ),
    "log2 e is missing": Mistake(
        "P is 2^(alpha x − m): the factor that makes e^y of 2^y is missing.",
        "Fold log2 e = 1.4427 into the scale, once, before the loop.",
        **_forward("exp2 of natural numbers"),
    ),
    "Q scaled in its own dtype": Mistake(
        "Q is multiplied by alpha log2 e and rounded back to its dtype before the product. O hardly shows "
        "it; LSE does.",
        "Leave Q as it is, and fold the factor into the exponent: x · c − m · c is one fused multiply-add.",
        **_forward("q scaled in its dtype"),
    ),
    "no mask on the diagonal": Mistake(
        "In the tiles that the diagonal crosses, queries see later keys: no mask hides them there.",
        "Does `causal` arrive at all? If it does: the loop without a mask ends where the block's first query "
        "stops to see, rounded down to whole tiles.",
        **_forward("whole tiles by the last query", also=("only whole tiles",)),
    ),
    "a tile between the loops": Mistake(
        "The second loop begins one tile late: the tile in which the first one stopped is visited by "
        "neither.",
        "The second loop begins exactly where the first one ends.",
        **_forward("tile after the whole ones skipped"),
    ),
    "heads dealt round": Mistake(
        "Head h of Q takes head h % H_k of K and V. Groups are neighbours: head h belongs to h // (H / H_k).",
        "With 4 heads of Q and 2 of K, which two share the first one?",
        **_forward(grouped.HEADS),
    ),
    "stored where the program's number says": Mistake(
        "Blocks of queries are taken in the reverse order, and stored in the order of the programs' numbers.",
        "Name the block once, and make rows of it; every address and mask comes from those.",
        **_forward("stored where the program's number says"),
    ),
}
OF_THE_FORWARD_PASS = (
    "alpha forgotten",
    "alpha's sign is lost",
    "acc not rescaled",
    "l not rescaled",
    "acc rescaled twice",
    "the maximum is not subtracted",
    "not divided by l",
    "LSE without m",
    "LSE without log l",
    "mask before alpha",
    "K and V of the first head",
    "padded keys are not masked",
    "one padded key is not masked",
    "loop ends one tile early",
    "no causal mask",
    "the diagonal is hidden",
    "one key too many",
    "top-left alignment",
    "loop end without S_k − S_q",
    "rows that see nothing are NaN",
    "a finite number for −inf",
)
"""What somebody who rewrites a right forward pass gets wrong anew."""

IN_THE_MASKED_TILES = {
    "top-left alignment": "top-left mask",
    "one key too many": "one key too many in the mask",
    "the diagonal is hidden": "diagonal hidden",
}
"""Mistakes of the mask, which a kernel with two loops makes in the second one alone."""


def _older_forward() -> dict[str, Mistake]:
    """What lesson 06 is about, where a kernel has two loops, too."""
    older = {**forward(_forward), **causal_forward(_forward)}
    for name, fault in IN_THE_MASKED_TILES.items():
        split = _forward(fault, "whole tiles unmasked")["wrong"]
        older[name] = replace(older[name], also=(*older[name].also, split))
    return {name: older[name] for name in OF_THE_FORWARD_PASS}


OLDER_FORWARD = _older_forward()

LEAN = {
    name: FORWARD[name]
    for name in ("log2 e is missing", "LSE in base 2", "no mask on the diagonal", "heads dealt round")
}

# ---------------------------------------------------------------- tuned_backward

_backward = faulty_formula(grouped.faulty_backward)
BACKWARD = {
    "log2 e is missing from LSE": Mistake(
        "P is 2^(alpha x log2 e − LSE): the scores were brought to base 2, and LSE is natural.",
        "Multiply LSE by log2 e too, once per row.",
        **_backward("LSE in base 2"),
    ),
    "log2 e left in dQ and dK": Mistake(
        "dQ and dK are multiplied by alpha log2 e, the factor of the exponent; the derivative carries alpha "
        "alone.",
        "S = alpha Q Kᵀ: after the loop it is alpha that comes onto the sums.",
        **_backward("log2 e left in dQ and dK"),
    ),
    "alpha is missing after the loop": Mistake(
        "The factor alpha is missing: besides the one in the exponent, dQ = alpha dS K and dK = alpha dSᵀ Q "
        "carry one of their own.",
        "Multiply the finished sums of dQ and dK by alpha.",
        **_backward("alpha not on dQ", "alpha not on dK"),
    ),
    "LSE along the keys": Mistake(
        "LSE lies along the wrong axis of the tile. In Kᵀ-first tiles rows are keys and columns queries.",
        "A number per query is [None, :] in such a tile, and [:, None] in one whose rows are queries.",
        **_backward("LSE along the keys"),
    ),
    "delta along the keys": Mistake(
        "delta lies along the wrong axis of the tile. In Kᵀ-first tiles rows are keys and columns queries.",
        "A number per query is [None, :] in such a tile, and [:, None] in one whose rows are queries.",
        **_backward("delta along the keys"),
    ),
    "one head of the group": Mistake(
        "dK and dV hold the share of one query head; a key that several heads share gets the sum of theirs.",
        "Loop over the group inside the program, or add atomically into zeros.",
        **_backward("one head of the group", also=(("one head of the group", "the first one"),)),
    ),
    "heads dealt round": Mistake(
        "Head h of Q takes head h % H_k of K and V. Groups are neighbours: head h belongs to h // (H / H_k).",
        "With 4 heads of Q and 2 of K, which two share the first one?",
        **_backward(grouped.HEADS),
    ),
    "no guard for queries that see nothing": Mistake(
        "A query without a key has LSE = −∞, and exp2(−∞ + ∞) is NaN, or ∞, in every gradient that it meets.",
        "Put +∞ in its place, so that P = 0.",
        **_backward("no guard"),
    ),
}
OF_THE_BACKWARD_PASS = (
    "alpha is missing from dQ",
    "alpha is missing from dK",
    "alpha on dV",
    "alpha is missing from S",
    "alpha's sign is lost",
    "dK and dV exchanged",
    "dV from O",
    "dS meets K",
    "dP from K",
    "delta omitted",
    "delta subtracted after P",
    "P in front forgotten",
    "LSE forgotten",
    "log2 e is missing",
    "log2 e is missing from S",
    "accumulated in half precision",
    "padded queries have LSE = −inf",
    "mask forgotten",
    "mask hides the diagonal",
    "mask shows one key too many",
    "mask aligned top-left",
)
"""What somebody who rewrites a right backward pass gets wrong anew. Where the words of both kernels differ,
those of dQ speak of dK as well."""


def _older_backward() -> dict[str, Mistake]:
    older = {**dkv(_backward), **dq(_backward), **causal_only(_backward, keys=False)}
    return {name: older[name] for name in OF_THE_BACKWARD_PASS}


OLDER_BACKWARD = _older_backward()
