"""`online_logsumexp`: log-sum-exp of rows longer than a block."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import logsumexp as kernels
from flashlearn.lessons.lesson_04_logsumexp.one_pass import one_pass
from flashlearn.lessons.lesson_04_logsumexp.score_rows import rows, scores
from flashlearn.lessons.shared import quantities, reference
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.rows import logsumexp as online_scan
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status

# what is right ------------------------------------------------------------------------------------


def logsumexp(x: Tensor) -> Tensor:
    """log Σ_j exp(x_ij): [M, N] → [M] in fp32 (fp64 for fp64); −inf for a row of nothing but −inf."""
    return reference.logsumexp(x)


def logsumexp_base2(x: Tensor, block: int = 16) -> Tensor:
    """LSE in powers of two, scanned in blocks that start at a very small number instead of −inf."""
    wide = (x if x.dtype == torch.float64 else x.float()) * reference.LOG2E
    m_i, l_i = torch.full_like(wide[:, 0], -1e30), torch.zeros_like(wide[:, 0])
    for part in wide.split(block, dim=1):
        m_new = torch.maximum(m_i, part.amax(dim=1))
        l_i = l_i * (m_i - m_new).exp2() + (part - m_new.unsqueeze(1)).exp2().sum(dim=1)
        m_i = m_new
    return (m_i + l_i.log2()) * math.log(2)


def logsumexp_base2_at_once(x: Tensor) -> Tensor:
    """The same, with the row's own maximum from the start."""
    return logsumexp_base2(x, block=x.shape[1])


def logsumexp_work(inputs: Inputs) -> Work:
    """Per element: maximum, difference, exponential, sum; one read. One number per row is written."""
    x = inputs["x"]
    return Work(operations=4.0 * x.numel(), bytes=x.numel() * x.element_size() + 4.0 * x.shape[0])


def torch_logsumexp(x: Tensor) -> Tensor:
    """The peer of online_logsumexp."""
    return torch.logsumexp(x, dim=-1)


# what people get wrong ----------------------------------------------------------------------------

formula = faulty_formula(online_scan)
HALF_SUM = "tl.sum(tl.exp(x - shift).to(x_ptr.dtype.element_ty), axis=0).to(tl.float32)"


def _with(*edits: tuple[str, str]) -> Variant:
    return variant(kernels.online_logsumexp, kernels.online_logsumexp_kernel, edits=edits)


MISTAKES = {
    "l not rescaled": Mistake(
        "The sum of the earlier blocks stays in units of exp(m_old) when the maximum moves: it is not "
        "rescaled, or is rescaled by 1, as happens if the old maximum is overwritten before the factor is "
        "computed.",
        "The sum of the earlier blocks is multiplied by exp(m_old − m_new), with m_old their maximum.",
        **formula("l not rescaled"),
    ),
    "the new sum is rescaled too": Mistake(
        "The factor exp(m_old − m_new) also scales the sum of the new block, which is already relative to "
        "the new maximum. In the first block it is 0, and its sum is lost.",
        "Which of the two summands was computed relative to the old maximum? Only that one is scaled.",
        **formula("new sum rescaled too"),
    ),
    "maximum not subtracted": Mistake(
        "Scores far from 0 give an infinite result, as they do if no maximum is subtracted, or not the "
        "row's own: exp(89) is infinite in fp32, and a row far below zero sums to 0, whose logarithm is "
        "−inf.",
        "What is subtracted from the scores in the exponent?",
        **formula("no maximum"),
    ),
    "maximum of the first block only": Mistake(
        "The result is as if the first block's maximum were subtracted throughout. In exact arithmetic any "
        "number will do; in fp32 a later score that is 89 larger makes the sum infinite.",
        "Every block can raise the maximum.",
        **formula("first block's maximum"),
    ),
    "the block's own maximum": Mistake(
        "The result is as if the new maximum were that of the block alone: it can fall, and then exp(m_old "
        "− m_new) overflows for a fall of 89, and a block of −inf loses what came before it.",
        "The maximum of what was seen so far never falls: it is the larger of the old one and the block's.",
        **formula("block's own maximum"),
    ),
    "maximum not added back": Mistake(
        "You stored log l, the logarithm of the sum of exp(x − m).",
        "LSE is the logarithm of exp(m) · l: what happened to the first factor?",
        **formula("m not added"),
    ),
    "logarithm of l forgotten": Mistake(
        "You stored m + l, the maximum and the sum itself.",
        "LSE is the logarithm of exp(m) · l, and that of a product is a sum.",
        **formula("no logarithm"),
    ),
    "base-2 logarithm": Mistake(
        "You added log2 of l to a maximum in natural units.",
        "Both terms must be in natural units: which logarithm of l do you take?",
        **formula("base 2"),
    ),
    "only the last block": Mistake(
        "The result is that of the row's last block alone, as if each block overwrote what was carried.",
        "Where do the maximum and the sum of the earlier blocks get lost?",
        **formula("last tile only"),
    ),
    "last block left out": Mistake(
        "The columns of the last block are missing, in every row or only in rows whose last block is "
        "not full.",
        "Where does column N − 1, the last one, enter the sum?",
        **formula("ragged tile left out", also=("last tile left out",)),
    ),
    "padding enters the sum": Mistake(
        "Padded lanes take part in the sum, as if they held 0, or another number that is not −inf: a score "
        "of 0 adds exp(0 − m).",
        "What must a padded lane hold so that it changes neither a maximum nor a sum of exponentials?",
        **formula("zeros for padding"),
    ),
    "a finite number for −inf": Mistake(
        "Rows of nothing but −inf come out finite, as they do if the padding is a large negative number: it "
        "is then the maximum, and the padded lanes are all that is counted.",
        "−inf loses against every maximum, and its exponential is 0.",
        **formula("filler −10^4", also=("filler −10^6", "filler −10^9", "filler −10^30")),
    ),
    "maximum starts at 0": Mistake(
        "The rows whose scores all lie far below 0, or below another finite number, are wrong, as if the "
        "running maximum could not fall below it. In exact arithmetic any number may be subtracted; in fp32 "
        "all exponentials of a row far below it vanish, and log 0 is −inf.",
        "Which numbers that are not scores can become the maximum? Each of them, padded lanes included, must "
        "be −inf.",
        **formula("m from 0", also=("m from −10^4",)),
    ),
    "one maximum for several rows": Mistake(
        "Rows whose scores lie far below those of the other rows come out as −inf, as they do if one maximum "
        "is taken over all rows of a program's tile: then all exponentials of such a row vanish, and log 0 "
        "is −inf.",
        "Each row has a maximum of its own, over its own scores.",
        **formula("one maximum for all rows"),
    ),
    "lanes not brought together": Mistake(
        "Each lane has a maximum and a sum of its own, and at the end the sums are added as they are. "
        "They are in different units: each lane's sum counts multiples of its own exp(m).",
        "Multiply each lane's sum by exp(m_lane − m), where m is the largest of the maxima; then add.",
        **formula("lanes apart"),
    ),
    "−inf minus −inf": Mistake(
        "As long as a row has shown nothing but −inf, its maximum is −inf, and a difference, x − m or "
        "m_old − m, is −inf + inf: NaN, which stays in the sum to the end.",
        "Which exponent subtracts −inf in such a row?",
        **formula("no guard"),
    ),
    "columns one apart": Mistake(
        "The kernel reads columns that are one element apart. In a transposed view they are further apart.",
        "Column j of row i lies i row strides and j column strides from the first element.",
        launcher=_with(("j * x_col", "j")),
    ),
    "exponentials in half precision": Mistake(
        "The block's exponentials and their sum are rounded to x's own precision: 11 bits for fp16, 8 for "
        "bf16, where fp32 keeps 24. The result is fp32 and shows it.",
        "From the load to the store, everything can be fp32.",
        launcher=_with(("tl.sum(tl.exp(x - shift), axis=0)", HALF_SUM)),
    ),
    "load without a mask": Mistake(
        "The last block lets all lanes through: those from column N on lie beyond the row, and in the "
        "last row beyond the tensor.",
        "A mask keeps the lanes from column N on away from memory; other= gives them a number that adds "
        "nothing.",
        launcher=_with((', mask=j < N, other=-float("inf")', "")),
        status=Status.OUT_OF_BOUNDS,
    ),
}

# what is asked ------------------------------------------------------------------------------------

CASES = (
    rows(8, 100, note="four blocks"),
    rows(8, 128, seed=1, note="full blocks"),
    rows(8, 20, seed=2, note="below a block"),
    rows(1, 37, seed=3, note="one row"),
    rows(8, 1, seed=4, note="one column"),
    rows(5, 75, layout="strided", seed=5, note="a slice of a wider matrix"),
    rows(5, 70, layout="transposed", seed=6, note="transposed view"),
    rows(8, 90, magnitude=30.0, seed=7, note="scores around ±30"),
    rows(9, 90, magnitude=100.0, data="rows far apart", seed=8, note="rows far apart"),
    rows(5, 70, data="at the far end", seed=9, note="scores near −20,000"),
    rows(5, 100, data="rising", seed=10, note="rising from −120 to 120"),
    rows(5, 100, data="falling", seed=11, note="falling from 120 to −120"),
    rows(6, 96, data="equal", seed=12, note="equal scores"),
    rows(8, 70, data="some −inf", seed=13, note="some scores −inf"),
    rows(5, 100, data="first blocks −inf", seed=14, note="two blocks of −inf, then scores near −150"),
    rows(5, 100, data="last blocks −inf", seed=15, note="scores, then two blocks of −inf"),
    rows(8, 70, data="empty rows", seed=16, note="rows of nothing but −inf"),
    rows(6, 200, torch.float16, seed=17),
    rows(6, 200, torch.bfloat16, seed=18),
    rows(4, 200, torch.float16, data="far above zero", seed=19, note="near 100"),
    rows(1, 2100, seed=24, note="a long row"),
    rows(66, 3, seed=25, note="many rows"),
    rows(5, 1, data="beyond −10⁶", seed=26, note="one column near −3·10⁶"),
    rows(4096, 32000, torch.float16, seed=20, gpu=True),
    rows(999, 3001, torch.bfloat16, layout="transposed", seed=21, gpu=True),
    rows(64, 100000, magnitude=30.0, seed=22, gpu=True, note="around ±30"),
    rows(64, 5000, data="empty rows", seed=23, gpu=True, note="rows of nothing but −inf"),
)


def logsumexp_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, N] in the case's dtype and layout."""
    return {"x": lay_out(scores(case, generator).to(case.dtype), case.layout)}


online_logsumexp = Exercise(
    name="online_logsumexp",
    lesson="04",
    kind=Kind.KERNEL,
    title="Logsumexp of rows longer than a block",
    signature="(x) -> lse",
    outputs=("lse",),
    inputs=logsumexp_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=logsumexp,
        twins=(online_scan, logsumexp_base2, logsumexp_base2_at_once),
        output_dtypes={"lse": torch.float32},
        work=logsumexp_work,
        grows=lambda inputs: inputs["x"].numel() // 2,  # a scan is slow in many parts, and holds little
        real_sizes={"M": 512, "rows apart": 2**23},  # a window of a matrix of 2³² elements
        review=one_pass,
    ),
    explained=HowExplained(
        quantities=quantities.logsumexp,
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=torch_logsumexp,
        peer_name="torch_logsumexp",
        case=rows(4096, 32000, torch.float16, gpu=True),
    ),
    points=3,
    solution="flashlearn.kernels.logsumexp:online_logsumexp",
)
