"""`softmax_backward`: the gradient through each row's softmax."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import softmax as kernels
from flashlearn.lessons.lesson_02_softmax.softmax_cases import REAL_SIZES, TIMED, rows
from flashlearn.lessons.shared import quantities, reference
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.rows import softmax_vjp
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.lessons.shared.row_cases import scores
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status

formula = faulty_formula(softmax_vjp)


def _with(*edits: tuple[str, str]) -> Variant:
    return variant(kernels.softmax_backward, kernels.softmax_backward_kernel, edits=edits)


backward_in_half_precision = _with(
    ("p_col, mask=in_row, other=0.0).to(tl.float32)\n    dp", "p_col, mask=in_row, other=0.0)\n    dp"),
    ("dp_col, mask=in_row, other=0.0).to(tl.float32)", "dp_col, mask=in_row, other=0.0)"),
)
"""Multiplies and sums in the dtype of the inputs."""

MISTAKES = {
    "⟨p, dp⟩ forgotten": Mistake(
        "You stored p · dp: what diag(p) contributes. The competition between the probabilities is missing.",
        "Subtract the row's inner product from dp before you multiply by p.",
        **formula("no inner product"),
    ),
    "sum of dp, not weighted by p": Mistake(
        "You subtracted the plain sum of dp. The sum is weighted: Σ_j p_j dp_j.",
        "What is summed is p ∘ dp, not dp.",
        **formula("inner of dp alone"),
    ),
    "plain mean of dp": Mistake(
        "You subtracted the plain mean of dp. The mean is taken under p: Σ_j p_j dp_j, with nothing to "
        "divide by.",
        "What is summed is p ∘ dp; the weights p already sum to 1.",
        **formula("inner of dp alone", "divided by N"),
    ),
    "inner product divided by N": Mistake(
        "You divided ⟨p, dp⟩ by N. The weights p already sum to 1: the weighted sum is the mean.",
        "Leave the division out.",
        **formula("divided by N"),
    ),
    "inner product divided by the sum of p": Mistake(
        "You divided ⟨p, dp⟩ by the sum of the row's p. That sum is 1 only up to rounding: where p is stored "
        "in half precision and dp is large, dividing by it shifts the whole row.",
        "ds = p (dp − ⟨p, dp⟩) holds for the p that is stored. Leave the division out.",
        **formula("divided by the sum of p"),
    ),
    "p in front forgotten": Mistake(
        "You stored dp − ⟨p, dp⟩, without the factor p in front.",
        "Both terms carry a p_j.",
        **formula("no p in front"),
    ),
    "p on dp alone": Mistake(
        "You stored p · dp − ⟨p, dp⟩: the inner product is subtracted without the factor p.",
        "Both terms carry a p_j.",
        **formula("p on dp alone"),
    ),
    "only the diagonal of J": Mistake(
        "You stored p (1 − p) dp: the diagonal of J alone, as for a sigmoid.",
        "The inner product goes over the whole row: dp_k reaches ds_j for every k.",
        **formula("only the diagonal"),
    ),
    "plus ⟨p, dp⟩": Mistake(
        "You added ⟨p, dp⟩ where it must be subtracted.",
        "ds must sum to 0 over a row: add up what you stored.",
        **formula("plus"),
    ),
    "the sign of ds": Mistake(
        "Every entry has the opposite sign: p (⟨p, dp⟩ − dp).",
        "A score whose dp is above the row's mean gets a positive ds.",
        **formula("sign"),
    ),
    "p subtracted instead": Mistake(
        "You stored p · dp − p: that resembles p − y, the gradient of the cross-entropy through softmax, "
        "which belongs to that one loss.",
        "Subtract p times the row's inner product.",
        **formula("p subtracted"),
    ),
    "padding of −inf": Mistake(
        "Rows shorter than their block are not finite, as happens if the padding is −inf, as in the forward "
        "kernel: −inf · −inf is ∞, and so is the inner product.",
        "Padding must add nothing to Σ p dp: which number does that, as a factor?",
        **formula("padding of −inf", also=("−inf up to 16 too",)),
    ),
    "inner product of the last block": Mistake(
        "The inner product is that of the row's last block alone, as if each block replaced what was summed.",
        "Where do the earlier blocks get lost?",
        **formula("last tile only"),
    ),
    "inner product without the last block": Mistake(
        "The last block of the row is missing from the inner product, either always or only where "
        "that block is not full.",
        "Where does column N − 1, the last one, enter the inner product?",
        **formula("ragged tile left out", also=("last tile left out",)),
    ),
    "stored before the sum is complete": Mistake(
        "Each block of the row is stored with the inner product as far as it had been summed: the blocks "
        "after it are missing there.",
        "Every entry needs the sum over the whole row.",
        **formula("inner so far"),
    ),
    "load without a mask": Mistake(
        "The loads let all lanes through: those from column N on lie beyond the row, and in the last row "
        "beyond the tensor.",
        "A mask keeps the lanes from column N on away from memory, and other= gives them a number that "
        "adds nothing.",
        launcher=_with(
            ("p_row + j * p_col, mask=in_row, other=0.0", "p_row + j * p_col"),
            ("dp_row + j * dp_col, mask=in_row, other=0.0", "dp_row + j * dp_col"),
        ),
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of p used for dp": Mistake(
        "dp is read with the strides of p. dp is a tensor of its own: autograd hands you whatever "
        "layout it has.",
        "Address dp with the strides of dp.",
        launcher=_with(("i * dp_row + j * dp_col", "i * p_row + j * p_col")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "sum in half precision": Mistake(
        "The product and its sum are computed in half precision. Where dp has a large mean, dp − ⟨p, dp⟩ "
        "cancels the leading digits, and what was rounded away is large beside the rest.",
        "Compute in fp32 from the loads to the store: the product of two fp16 numbers fits into it exactly.",
        launcher=backward_in_half_precision,
    ),
}

CASES = (
    rows(4, 3, note="below a block"),
    rows(5, 37, seed=1, note="ragged"),
    rows(3, 64, seed=2, note="a full block"),
    rows(1, 17, seed=3, note="one row"),
    rows(6, 1, seed=4, note="one column"),
    rows(5, 24, layout="strided", seed=5, note="dp is a slice"),
    rows(5, 24, layout="every 2nd column", data="p is a view", seed=6, note="p is every 2nd column"),
    rows(4, 19, layout="transposed", seed=7, note="dp is transposed"),
    rows(4, 19, layout="transposed", data="p is a view", seed=20, note="p is transposed"),
    rows(4, 29, magnitude=5.0, seed=8, note="sharp rows"),
    rows(3, 13, data="equal", seed=9, note="equal probabilities"),
    rows(5, 11, data="some −inf", seed=10, note="some p are 0"),
    rows(3, 200, torch.float16, seed=11),
    rows(3, 200, torch.bfloat16, seed=12),
    rows(3, 24, torch.float16, data="large mean", seed=13, note="dp around 60"),
    rows(1, 2100, seed=18, note="a long row"),
    rows(66, 3, seed=19, note="many rows"),
    rows(4096, 4096, torch.float16, seed=14, gpu=True),
    rows(999, 3001, torch.bfloat16, layout="transposed", seed=15, gpu=True, note="dp transposed"),
    rows(64, 20000, magnitude=3.0, seed=16, gpu=True, note="sharp rows"),
)


def backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p = softmax of the case's scores, and dp; one of them alone has the case's layout: strides differ."""
    p = reference.softmax(scores(case, generator)).to(case.dtype)
    dp = torch.randn(p.shape, generator=generator)
    if case.data == "large mean":
        dp = dp + 60.0
    dp = dp.to(case.dtype)
    if case.data == "p is a view":
        return {"p": lay_out(p, case.layout), "dp": dp}
    return {"p": p, "dp": lay_out(dp, case.layout)}


def backward_work(inputs: Inputs) -> Work:
    """Per element: product, sum, difference, product; two reads and one write."""
    (M, N), size = inputs["p"].shape, inputs["p"].element_size()
    return Work(operations=4.0 * M * N, bytes=3.0 * M * N * size)


def torch_softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    """The peer of softmax_backward: what autograd calls for torch.softmax."""
    return torch.ops.aten._softmax_backward_data(dp, p, -1, p.dtype)


softmax_backward = Exercise(
    name="softmax_backward",
    lesson="02",
    kind=Kind.KERNEL,
    title="The gradient through each row's softmax",
    signature="(p, dp) -> ds",
    outputs=("ds",),
    inputs=backward_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=reference.softmax_backward,
        twins=(reference.softmax_backward_expanded,),
        gradient=True,
        work=backward_work,
        real_sizes=REAL_SIZES,
    ),
    explained=HowExplained(
        quantities=quantities.softmax_backward,
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=torch_softmax_backward,
        peer_name="torch_softmax_backward",
        case=TIMED,
    ),
    points=2,
    solution="flashlearn.kernels.softmax:softmax_backward",
)
