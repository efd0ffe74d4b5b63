"""`softmax_forward`: softmax of each row, the maximum first."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import softmax as kernels
from flashlearn.lessons.lesson_02_softmax.softmax_cases import REAL_SIZES, TIMED, rows
from flashlearn.lessons.shared import quantities, reference
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.rows import softmax
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.lessons.shared.row_cases import scores
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status

formula = faulty_formula(softmax)


def _with(*edits: tuple[str, str]) -> Variant:
    return variant(kernels.softmax_forward, kernels.softmax_forward_kernel, edits=edits)


MISTAKES = {
    "maximum not subtracted": Mistake(
        "Scores far from 0 give NaN, as they do without the row's own maximum subtracted: "
        "exp(89) is infinite in fp32, and ∞/∞ is NaN; exp(−200) is 0, so that a row far below zero "
        "becomes 0/0.",
        "With the row's maximum subtracted, the largest exponential is exp(0) = 1.",
        **formula("no maximum"),
    ),
    "padding enters the sum": Mistake(
        "Padded lanes take part in the row's sum, as if they held 0, or another number that is not −inf: a "
        "score of 0 adds exp(0 − m), with m the row's maximum.",
        "What must a padded lane hold so that it changes neither a maximum nor a sum of exponentials?",
        **formula("zeros in whole rows", also=("zeros in the sum",)),
    ),
    "padding enters the maximum": Mistake(
        "The number that is subtracted from a row is at least 0, as if padded lanes took part in the maximum "
        "with the score 0, or as if the maximum started at 0. In a row far below zero every exponential "
        "vanishes.",
        "−inf is below every score, so a maximum should start from it, and padded lanes should hold it.",
        **formula("zeros in the maximum"),
    ),
    "one maximum for several rows": Mistake(
        "Rows whose scores lie far below those of the other rows come out as NaN, as they do if one maximum "
        "is taken over all rows of a program's tile: then all exponentials of such a row vanish, and 0/0 is "
        "NaN.",
        "Each row has a maximum of its own, over its own scores.",
        **formula("one maximum for all rows"),
    ),
    "a finite number for −inf": Mistake(
        "In a row below some large negative number all exponentials vanish, as they do if that number takes "
        "the place of −inf, in padded lanes or as the initial maximum.",
        "−inf is below every score, so a maximum should start from it, and padded lanes should hold it.",
        **formula("maximum above −10^4", also=("padding of −10^4",)),
    ),
    "divided by the sum so far": Mistake(
        "Each block of p is divided by the sum of the blocks up to its own, as if it were stored while the "
        "sum is still growing. The sum is complete only after the last block.",
        "Divide only when the whole row has been summed.",
        **formula("sum so far"),
    ),
    "the sum lacks the maximum": Mistake(
        "The numerators are exp(s − m), with m the row's maximum, and the denominator is the sum of "
        "exp(s) as it is: each row sums to exp(−m).",
        "Both belong to the same unit: which exponentials does the sum add?",
        **formula("sum without the maximum"),
    ),
    "the sum of the last block": Mistake(
        "The denominator is the sum of the row's last block alone, as if each block replaced what was "
        "summed.",
        "Where does the sum of the earlier blocks get lost?",
        **formula("last tile only"),
    ),
    "the maximum of the last block": Mistake(
        "The result is as if the maximum were that of the row's last block. In exact arithmetic any number "
        "may be subtracted; in fp32 a score that is 89 larger overflows.",
        "Where does the maximum of the earlier blocks get lost?",
        **formula("last tile's maximum"),
    ),
    "l not rescaled": Mistake(
        "The sum is not rescaled when the running maximum moves: what the earlier blocks gave is still in "
        "units of exp(m_old).",
        "When the maximum moves from m_old to m_new, by which factor does a sum of exp(s − m_old) change?",
        **formula("l not rescaled"),
    ),
    "logarithm of l forgotten": Mistake(
        "You stored exp(s − (m + l)), with m the row's maximum and l its sum. Dividing by l is "
        "subtracting log l in the exponent.",
        "LSE is the logarithm of exp(m) · l.",
        **formula("m + l"),
    ),
    "normalised over columns": Mistake(
        "Each column sums to 1 where each row should: maximum and sum are those of a column.",
        "The maximum and the sum of row i go over s[i, 0], …, s[i, N − 1].",
        **formula("over columns"),
    ),
    "not divided by the sum": Mistake(
        "You stored exp(s − m), with m the row's maximum: the largest entry of each row is exactly 1, and "
        "rows do not sum to 1.",
        "What is missing is the division by the sum of the row's exponentials, or the subtraction of its "
        "logarithm in the exponent.",
        **formula("not divided"),
    ),
    "divided by the number of columns": Mistake(
        "p is the exponential divided by N, the number of columns, in place of the sum of its row.",
        "The divisor is the sum of the row's exponentials, relative to the row's own maximum.",
        **formula("divided by N"),
    ),
    "powers of two": Mistake(
        "p is made of powers of two, 2^(s − m), where e^(s − m) belongs.",
        "e^x is 2^(x log2 e).",
        **formula("powers of two"),
    ),
    "logarithm of the softmax": Mistake(
        "You stored the logarithm of the softmax.",
        "The task asks for the probabilities themselves.",
        **formula("logarithm"),
    ),
    "load without a mask": Mistake(
        "A load lets all lanes through: those from column N on lie beyond the row, and in the last row "
        "beyond the tensor.",
        "A mask keeps the lanes from column N on away from memory; other= gives them a number that adds "
        "nothing.",
        launcher=_with((', mask=in_row, other=-float("inf")', "")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of s used for p": Mistake(
        "The store uses the strides of s. p is a new, contiguous tensor: where s is a slice or a transposed "
        "view, the strides differ.",
        "Address p with the strides of p.",
        launcher=_with(("i * p_row + j * p_col", "i * s_row + j * s_col")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "sum in half precision": Mistake(
        "The exponentials are rounded to half precision before they are summed and divided: 11 bits in "
        "fp16, 8 in bf16, where fp32 keeps 24.",
        "Keep everything in fp32 between the load and the store; the store converts by itself.",
        launcher=_with(("tl.exp(s - m_i)", "tl.exp(s - m_i).to(tl.float16)")),
    ),
}

CASES = (
    rows(4, 3, note="below a block"),
    rows(5, 37, seed=1, note="ragged"),
    rows(3, 64, seed=2, note="a full block"),
    rows(1, 17, seed=3, note="one row"),
    rows(6, 1, seed=4, note="one column"),
    rows(5, 24, layout="strided", seed=5, note="a slice of a wider matrix"),
    rows(4, 19, layout="transposed", seed=6, note="transposed view"),
    rows(4, 29, magnitude=30.0, seed=7, note="scores around ±30"),
    rows(4, 50, magnitude=100.0, data="rows far apart", seed=8, note="rows far apart"),
    rows(3, 21, data="at the far end", seed=9, note="scores near −20,000"),
    rows(3, 13, data="equal", seed=10, note="equal scores"),
    rows(5, 11, data="some −inf", seed=11, note="some scores −inf"),
    rows(3, 200, torch.float16, seed=12),
    rows(3, 200, torch.bfloat16, seed=13),
    rows(2, 100, torch.float16, data="far above zero", seed=14, note="near 100"),
    rows(1, 2100, seed=18, note="a long row"),
    rows(66, 3, seed=19, note="many rows"),
    rows(4096, 4096, torch.float16, seed=15, gpu=True),
    rows(999, 3001, torch.bfloat16, layout="transposed", seed=16, gpu=True, note="transposed"),
    rows(64, 20000, magnitude=30.0, seed=17, gpu=True, note="around ±30"),
)


def forward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """s [M, N] in the case's dtype and layout."""
    return {"s": lay_out(scores(case, generator).to(case.dtype), case.layout)}


def forward_work(inputs: Inputs) -> Work:
    """Per element: maximum, difference, exponential, sum, division; one read and one write."""
    (M, N), size = inputs["s"].shape, inputs["s"].element_size()
    return Work(operations=5.0 * M * N, bytes=2.0 * M * N * size)


def torch_softmax(s: Tensor) -> Tensor:
    """The peer of softmax_forward."""
    return torch.softmax(s, dim=-1)


softmax_forward = Exercise(
    name="softmax_forward",
    lesson="02",
    kind=Kind.KERNEL,
    title="Softmax of each row, the maximum first",
    signature="(s) -> p",
    outputs=("p",),
    inputs=forward_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=reference.softmax,
        twins=(reference.softmax_from_lse, reference.softmax_base2),
        work=forward_work,
        real_sizes=REAL_SIZES,
    ),
    explained=HowExplained(
        quantities=quantities.softmax_forward,
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=torch_softmax,
        peer_name="torch_softmax",
        case=TIMED,
    ),
    points=2,
    solution="flashlearn.kernels.softmax:softmax_forward",
)
