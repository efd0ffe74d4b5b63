"""`recompute_probabilities`: P again, tile by tile, from S and one number per row."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.exercise import (
    Case,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Mistake,
    Work,
)
from flashlearn.kernels import logsumexp as kernels
from flashlearn.lessons.lesson_04_logsumexp.score_rows import rows, scores
from flashlearn.lessons.shared import quantities, reference
from flashlearn.lessons.shared.faulty_formulas.faults import tiled, with_faults
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status

# what is right ------------------------------------------------------------------------------------


def recomputed(s: Tensor, lse: Tensor) -> Tensor:
    """P = exp(S − LSE), and 0 in a row with LSE = −inf: [M, N], [M] → [M, N] in the dtype of s."""
    shift = torch.where(lse == -math.inf, 0.0, lse).unsqueeze(1)
    wide = s if s.dtype == torch.float64 else s.float()
    return (wide - shift).exp().to(s.dtype)


def recomputed_base2(s: Tensor, lse: Tensor) -> Tensor:
    """The same in powers of two, each of the two products rounded: 2^(s log2 e − lse log2 e)."""
    shift = torch.where(lse == -math.inf, 0.0, lse).unsqueeze(1) * reference.LOG2E
    wide = (s if s.dtype == torch.float64 else s.float()) * reference.LOG2E
    return (wide - shift).exp2().to(s.dtype)


def recompute_work(inputs: Inputs) -> Work:
    """Per element: difference and exponential; one read, one write. One number per row is read."""
    s = inputs["s"]
    return Work(operations=2.0 * s.numel(), bytes=2.0 * s.numel() * s.element_size() + 4.0 * s.shape[0])


def torch_recompute(s: Tensor, lse: Tensor) -> Tensor:
    """The peer of recompute_probabilities: two kernels, and a matrix in fp32 between them."""
    return (s - lse.unsqueeze(1)).exp().to(s.dtype)


# what people get wrong ----------------------------------------------------------------------------

LSE = "tl.load(lse_ptr + i * lse_row, mask=in_rows, other=0.0)"


def _with(*edits: tuple[str, str]) -> Variant:
    return variant(kernels.recompute_probabilities, kernels.recompute_probabilities_kernel, edits=edits)


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


MISTAKES = {
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
        "Large scores give NaN, as exp(s) / exp(lse) does. On paper that is P; in fp32 both overflow from "
        "89 on, and ∞/∞ is NaN.",
        "Subtract lse before the exponential: s − lse is never positive.",
        wrong=lambda s, lse: (s.float().exp() / lse.float().exp().unsqueeze(1)).to(s.dtype),
    ),
    "logarithm of P": Mistake(
        "You stored s − lse, the logarithm of P.",
        "The task asks for the probabilities themselves: exp(s − lse).",
        wrong=lambda s, lse: s - _finite(lse),
    ),
    "powers of two": Mistake(
        "P is 2^(s − lse), where e^(s − lse) belongs: the factor log2 e is missing.",
        "e^x is 2^(x log2 e).",
        wrong=lambda s, lse: (s - _finite(lse)).double().exp2().to(s.dtype),
    ),
    "−inf minus −inf": Mistake(
        "A row of nothing but −inf has lse = −inf, and s − lse is −inf + inf, which is NaN. Its "
        "probabilities should be 0.",
        "With a finite number in place of that lse, p is exp(−inf) = 0.",
        wrong=lambda s, lse: (s - lse.unsqueeze(1)).exp().to(s.dtype),
    ),
    "softmax of the tile": Mistake(
        "Each tile sums to 1 on its own. The row's sum is that of all its tiles, and lse already has it.",
        "No maximum or sum is needed here: exp(s − lse) is the result.",
        **with_faults(_tilewise_softmax, "softmax of the tile", also=(("softmax of the tile", "after lse"),)),
    ),
    "lse taken by column": Mistake(
        "The kernel reads lse[j]: there is one per row, and where a tile has more columns than there are "
        "rows this reads beyond its end.",
        "lse belongs to rows: it is loaded at the rows' indices, and broadcast along the columns.",
        launcher=_with(
            ("lse_ptr + i * lse_row, mask=in_rows", "lse_ptr + j * lse_row, mask=j < N"),
            ("shift[:, None]", "shift[None, :]"),
        ),
        status=Status.OUT_OF_BOUNDS,
    ),
    "rows not masked": Mistake(
        "Rows are not masked: the last block of rows reaches beyond row M − 1.",
        "A mask hides the rows from M on.",
        launcher=_with(("in_rows = i < M", "in_rows = i >= 0")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of s used for p": Mistake(
        "The store uses the strides of s. p is a new, contiguous tensor: where s is a slice or a transposed "
        "view, the strides differ.",
        "Address p with the strides of p.",
        launcher=_with(
            ("i[:, None] * p_row + j[None, :] * p_col", "i[:, None] * s_row + j[None, :] * s_col"),
        ),
        status=Status.OUT_OF_BOUNDS,
    ),
    "stride of lse ignored": Mistake(
        "The kernel reads lse as if its numbers lay side by side. Where lse is a column of a wider "
        "tensor, they do not.",
        "Address lse with its stride.",
        launcher=_with(("i * lse_row", "i")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "lse in half precision": Mistake(
        "lse is rounded to the precision of s before it is subtracted. An absolute error in an exponent is a "
        "relative error of P: near 100, fp16 has steps of 1/16, which is up to 3 %.",
        "Bring s to fp32, not lse to half precision.",
        launcher=_with((LSE, f"{LSE}.to(s_ptr.dtype.element_ty).to(tl.float32)")),
    ),
}

# what is asked ------------------------------------------------------------------------------------

CASES = (
    rows(3, 4, note="below a tile"),
    rows(37, 70, seed=1, note="ragged both ways"),
    rows(32, 64, seed=2, note="full tiles"),
    rows(1, 37, seed=3, note="one row"),
    rows(18, 1, seed=4, note="one column"),
    rows(20, 24, layout="strided", seed=5, note="a slice of a wider matrix"),
    rows(20, 35, layout="transposed", seed=6, note="transposed view"),
    rows(20, 35, data="lse is a column", seed=7, note="lse is a column of a wider tensor"),
    rows(17, 50, magnitude=30.0, seed=8, note="scores around ±30"),
    rows(9, 50, magnitude=100.0, seed=9, note="scores around ±100"),
    rows(9, 50, data="far below zero", seed=10, note="scores near −200"),
    rows(3, 40, data="equal", seed=11, note="equal scores"),
    rows(10, 40, data="some −inf", seed=12, note="some scores −inf"),
    rows(19, 40, data="empty rows", seed=13, note="rows of nothing but −inf"),
    rows(20, 100, torch.float16, seed=14),
    rows(20, 100, torch.bfloat16, seed=15),
    rows(10, 100, torch.float16, data="far above zero", seed=16, note="near 100"),
    rows(3, 530, seed=20, note="long rows"),
    rows(150, 5, seed=21, note="many rows"),
    rows(4096, 4096, torch.float16, seed=17, gpu=True),
    rows(999, 3001, torch.bfloat16, layout="transposed", seed=18, gpu=True),
    rows(1000, 2000, data="empty rows", seed=19, gpu=True, note="rows of nothing but −inf"),
)


def recompute_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """s [M, N] in the case's dtype and layout, and its lse [M] in fp32."""
    s = scores(case, generator).to(case.dtype)
    lse = reference.logsumexp(s)
    if case.data == "lse is a column":
        lse = torch.stack([torch.full_like(lse, 7.0), lse, torch.full_like(lse, -7.0)], dim=1)[:, 1]
    return {"s": lay_out(s, case.layout), "lse": lse}


recompute_probabilities = Exercise(
    name="recompute_probabilities",
    lesson="04",
    kind=Kind.KERNEL,
    title="P recomputed tile by tile, from S and one number per row",
    signature="(s, lse) -> p",
    outputs=("p",),
    inputs=recompute_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=recomputed,
        twins=(recomputed_base2,),
        work=recompute_work,
        real_sizes={"M": 512, "rows apart": 2**23},  # a window of a matrix of 2³² elements
    ),
    explained=HowExplained(
        quantities=quantities.probabilities,
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=torch_recompute,
        peer_name="torch_recompute",
        case=rows(8192, 4096, torch.float16, gpu=True),
    ),
    points=2,
    solution="flashlearn.kernels.logsumexp:recompute_probabilities",
)
