"""`folded_logsumexp`: a logsumexp whose scale is folded into powers of two."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled, with_faults

NOT_RESCALED = "not rescaled"
RAW = frozenset({"rescaled by raw maxima", "rescaled by raw extremes", NOT_RESCALED})
"""The sum so far times 2^(m_old − m_new) of raw products: with alpha's sign in them, or without it."""


ZEROS = "zeros in the maximum"
"""Columns that do not count take part in the maximum with the score 0."""


@tiled(RAW | {ZEROS}, one_side=True)
def fold(x: Tensor, lengths: Tensor, alpha: float, faults: Faults = NONE, tile: Tile = (32, 32)) -> Tensor:
    """log Σ_j exp(alpha x_ij) over j < lengths[i] by powers of two, with faults by name."""
    wide = x if x.dtype == torch.float64 else x.float()
    seen = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    seen = torch.ones_like(seen) if "all columns" in faults else seen
    if "alpha comes last" in faults:
        return _alpha_last(wide, seen, alpha)
    hidden = -math.inf if alpha >= 0 else math.inf
    if faults & {"hidden before the scale", "0 · ∞"}:
        hidden = -math.inf
    if ZEROS in faults:
        return _zeros_in_maximum(wide.float(), seen, alpha, tile[1]).to(wide.dtype)  # it underflows
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
    if faults & RAW:
        top, total = _rescaled_by_raw_numbers(wide.float(), seen, alpha, c, faults, tile[1])  # it overflows
    if "in base 2" in faults:
        lse = top + total.log2()
    elif "sum in base 2" in faults:
        lse = top * math.log(2) + total.log2()
    elif "ln 2 twice" in faults:
        lse = (top + total.log()) * math.log(2)
    elif "maximum in base 2" in faults:
        lse = top + total.log()
    else:
        lse = top * math.log(2) + total.log()
    return lse if wide.dtype == torch.float64 else lse.float()


def _zeros_in_maximum(x: Tensor, seen: Tensor, alpha: float, block: int) -> Tensor:
    """The result where the maximum is at least 0 in a row some of whose columns do not count."""
    scaled = x * (alpha * math.log2(math.e))
    top = scaled.masked_fill(~seen, -math.inf).amax(1)
    short = ~seen.all(1) if x.shape[1] % block == 0 else torch.ones_like(seen[:, 0])
    top = torch.where(short, top.clamp(min=0.0), top)
    total = torch.where(seen, (scaled - top[:, None]).exp2(), 0.0).sum(1)
    return torch.where(total == 0, -math.inf, top * math.log(2) + total.log())


def _rescaled_by_raw_numbers(
    x: Tensor, seen: Tensor, alpha: float, c: float, faults: Faults, block: int
) -> tuple[Tensor, Tensor]:
    """The maximum in base 2 and the sum, of a loop whose rescaling lacks the factor c."""
    largest = alpha >= 0 or "largest raw product" in faults
    sign = -1.0 if alpha < 0 and "rescaled by raw maxima" in faults else 1.0
    never = -math.inf if largest else math.inf
    best, total = torch.full_like(x[:, 0], never), torch.zeros_like(x[:, 0])
    for hidden, inside in zip(x.masked_fill(~seen, never).split(block, 1), seen.split(block, 1), strict=True):
        extreme = hidden.amax(1) if largest else hidden.amin(1)
        new = torch.maximum(best, extreme) if largest else torch.minimum(best, extreme)
        unit = torch.where(new.isinf(), 0.0, new)
        e = torch.where(inside, ((hidden - unit[:, None]) * c).exp2(), 0.0)
        before = torch.where(best.isinf(), 0.0, (sign * (best - unit)).exp2())
        before = torch.ones_like(before) if NOT_RESCALED in faults else before
        total, best = total * before + e.sum(1), new
    return torch.where(best.isinf(), -math.inf, best * c), total


def _alpha_last(x: Tensor, seen: Tensor, alpha: float) -> Tensor:
    """Hidden elements and the first maximum are −∞, and differences of raw products meet alpha."""
    raw, c = x.masked_fill(~seen, -math.inf), alpha * math.log2(math.e)
    top = raw.amax(dim=1)
    unit = torch.where(top.isinf(), 0.0, top)
    before = torch.zeros_like(unit) * ((-math.inf - unit) * c).exp2()
    total = before + ((raw - unit[:, None]) * c).exp2().sum(dim=1)
    lse = torch.where(total == 0, -math.inf, top * alpha + total.log())
    return lse if x.dtype == torch.float64 else lse.float()


MISTAKES = {
    "the largest product for a negative alpha": Mistake(
        "For alpha < 0 exponentials overflow, as they do if they are relative to the largest x: that gives "
        "the smallest score, and once the scores are some 88 apart, the others' exponentials are infinite.",
        "For alpha < 0, alpha x is |alpha| (−x): the largest −x gives the largest score.",
        **with_faults(fold, "largest raw product"),
    ),
    "hidden, then scaled": Mistake(
        "For alpha < 0 hidden elements count as +∞, as they do if they are −∞ before they are multiplied by "
        "a negative factor.",
        "−∞ hides an element only where no negative factor comes after it.",
        **with_faults(fold, "hidden before the scale"),
    ),
    "−∞ meets alpha": Mistake(
        "NaN or infinities appear, as they do if hidden elements, or the first maximum, are −∞ before alpha "
        "is multiplied in: for alpha < 0 that is +∞, for alpha = 0 it is NaN.",
        "Where the mask and the maximum work on alpha x, −∞ never meets alpha.",
        **with_faults(fold, "alpha comes last"),
    ),
    "0 · ∞": Mistake(
        "NaN appears, as it does if −∞ is multiplied by 0, or −∞ is subtracted from −∞. The first can happen "
        "where alpha is 0 and multiplies hidden elements, the second in rows in which nothing is visible.",
        "Only finite numbers may be multiplied by an alpha of 0, and only a finite maximum may be "
        "subtracted.",
        **with_faults(fold, "0 · ∞"),
    ),
    "log2 e is missing": Mistake(
        "What is summed is 2^(alpha x): e^y is 2^(y log2 e).",
        "Where does log2 e = 1.4427 come into the exponents, beside alpha?",
        **with_faults(
            fold, "no log2 e", also=(("no log2 e", "maximum in base 2"), ("no log2 e", "in base 2"))
        ),
    ),
    "the old sum is rescaled by raw maxima": Mistake(
        "The sum so far is rescaled by 2^(m_old − m_new) with unscaled maxima, without the factor that the "
        "exponents of the new tile have.",
        "When the maximum changes, every exponent of the sum changes by (m_old − m_new) times which factor?",
        **with_faults(fold, "rescaled by raw extremes", also=("rescaled by raw maxima",)),
    ),
    "the old sum is not rescaled": Mistake(
        "The sum so far stays as it is when a later tile raises the maximum: its powers of two are still "
        "relative to the old one.",
        "2^(y − m_old) is 2^(y − m_new) times which factor?",
        **with_faults(fold, NOT_RESCALED),
    ),
    "all columns count": Mistake(
        "Columns from lengths[i] on count as well.",
        "Row i ends after lengths[i] columns: what keeps the others out of its sum?",
        **with_faults(fold, "all columns"),
    ),
    "ln 2 twice": Mistake(
        "The logarithm of the sum is natural already, and is multiplied by ln 2 as well.",
        "Which terms are in base 2 before the product with ln 2?",
        **with_faults(fold, "ln 2 twice"),
    ),
    "LSE in base 2": Mistake(
        "Part of the result, or all of it, is in base 2: the maximum, the logarithm of the sum, or both.",
        "An exponent or a logarithm to base 2 becomes natural when it is multiplied by ln 2.",
        **with_faults(fold, "in base 2", also=("maximum in base 2", "sum in base 2")),
    ),
    "zeros in the maximum": Mistake(
        "The maximum is never below 0, as if columns that do not count took part in it with the score 0, or "
        "as if it began there. Where all scores of a row lie far below 0, every power vanishes beside it.",
        "Which number is below every score, for the first maximum and for columns that do not count?",
        **with_faults(fold, ZEROS),
    ),
    "the sign of alpha is lost": Mistake(
        "Only the magnitude of alpha is used: for alpha < 0 the result is that of another row.",
        "For alpha < 0, alpha x is |alpha| (−x).",
        **with_faults(fold, "|alpha|"),
    ),
}


def rows_of(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, N] of the case's magnitude; lengths from 0 to N, or all N where `data` says so; alpha."""
    M, N = case.sizes["M"], case.sizes["N"]
    words = case.data.split(", near ")
    middle = float(words[1]) if len(words) > 1 else 0.0
    x = (middle + case.magnitude * torch.randn(M, N, generator=generator)).to(case.dtype)
    x = x if case.layout == "contiguous" else x.t().contiguous().t()
    lengths = torch.randint(0, N + 1, (M,), generator=generator)
    lengths[0] = 0 if M > 1 else N
    return {"x": x, "lengths": lengths, "alpha": float(words[0].removeprefix("alpha "))}


def folded(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    """log Σ_j exp(alpha x_ij) over j < lengths[i]."""
    return fold(x, lengths, alpha)


def unfolded(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    """The same by natural exponentials of what was scaled first."""
    s = alpha * (x if x.dtype == torch.float64 else x.float())
    return reference.logsumexp(
        s.masked_fill(torch.arange(x.shape[1], device=x.device) >= lengths[:, None], -math.inf)
    )


def torch_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    """The baseline."""
    hidden = torch.arange(x.shape[1], device=x.device) >= lengths[:, None]
    return torch.logsumexp((alpha * x.float()).masked_fill(hidden, -math.inf), dim=1)


def rows_work(inputs: Inputs) -> Work:
    """Two operations for each number that counts, which is read once."""
    x, lengths = inputs["x"], inputs["lengths"]
    known = lengths.device.type != "meta"
    counted = float(lengths.sum()) if known else x.numel() / 2  # lengths are drawn evenly from 0 to N
    return Work(2.0 * counted, counted * x.element_size() + 12.0 * x.shape[0])


def rows(
    M: int, N: int, alpha: float, dtype: torch.dtype = torch.float32, near: float = 0.0, **more: Any
) -> Case:
    """x [M, N] with values around `near`; layout "columns first" is the transpose of a matrix."""
    data = f"alpha {alpha:g}" + (f", near {near:.0f}" if near else "")
    magnitude = f"values ×{more['magnitude']:g}" if "magnitude" in more else ""
    layout = "columns first in memory" if "layout" in more else ""
    note = ", ".join(part for part in (data, magnitude, layout) if part)
    tags = {"strided": False}
    return build_case(f"{M} × {N}", {"M": M, "N": N}, dtype, note, tags=tags, data=data, **more)


folded_logsumexp = Exercise(
    name="folded_logsumexp",
    lesson="12",
    kind=Kind.KERNEL,
    title="A logsumexp whose scale is folded into powers of two",
    signature="(x, lengths, alpha) -> lse",
    outputs=("lse",),
    inputs=rows_of,
    cases=(
        rows(5, 20, 0.25, seed=1),
        rows(18, 150, 0.125, seed=2),
        rows(7, 70, -0.5, seed=3),
        rows(6, 70, -1.5, magnitude=60.0, seed=4),
        rows(6, 90, 1.5, magnitude=60.0, seed=5),
        rows(9, 33, 0.0, seed=6),
        rows(1, 129, -0.3, seed=7),
        rows(17, 40, -0.3, layout="columns first", seed=8),
        rows(8, 100, 0.2, FP16, seed=9),
        rows(8, 100, -0.2, BF16, seed=10),
        rows(5, 40, 0.5, near=-40000.0, seed=13),
        rows(1, 1, 0.5, near=-6e6, seed=14),
        rows(5, 70, -0.5, near=40000.0, seed=15),
        rows(4096, 4096, -0.2, BF16, seed=11, gpu=True),
    ),
    judged=HowJudged(
        reference=folded,
        twins=(unfolded,),
        output_dtypes={"lse": torch.float32},
        work=rows_work,
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=torch_logsumexp,
        peer_name="torch_logsumexp",
        case=rows(16384, 4096, 0.125, FP16, seed=12, gpu=True),
    ),
    points=2,
    solution="flashlearn.lessons.lesson_12_tuning.folded:folded_logsumexp",
)
