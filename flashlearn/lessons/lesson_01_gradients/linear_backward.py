"""`linear_backward`: the backward pass of a linear layer, in torch."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_01_gradients import without_autograd
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.own_formulas import one_evaluation, unforeseen
from flashlearn.outcome import Status


def layer_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """dx = dy wᵀ, and dw = xᵀ dy with all leading dimensions as rows."""
    return dy @ w.mT, x.flatten(0, -2).mT @ dy.flatten(0, -2)


def layer_backward_per_batch(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """The same with dw formed for each batch element and added afterwards, which rounds differently."""
    dw = x.mT @ dy
    return dy @ w.mT, dw.reshape(-1, *dw.shape[-2:]).sum(dim=0)


def _rows(t: Tensor) -> Tensor:
    """[..., n] as [rows, n]."""
    return t.flatten(0, -2)


def _untransposed(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """Refused by torch unless K = N, and M = K for dW."""
    return dy @ w, _rows(x) @ _rows(dy)


MISTAKES = {
    "an operand is not transposed": Mistake(
        "The shapes of your operands do not fit. Where all sizes are equal the product goes through, and "
        "the numbers are wrong.",
        "Write the shapes under the factors: dx [M, K] from dy [M, N] and w [K, N]; dw [K, N] from x [M, K] "
        "and dy.",
        launcher=_untransposed,
        status=Status.CRASHED,
    ),
    "dw transposed": Mistake(
        "Your dw is dyᵀ x, [N, K]: the layout of torch.nn.Linear's weight. Here w is [K, N], and dw has the "
        "shape of w.",
        "xᵀ dy is [K, N].",
        wrong=lambda x, w, dy: (dy @ w.mT, _rows(dy).mT @ _rows(x)),
    ),
    "dw for each batch element": Mistake(
        "Your dw has a batch dimension. The same w served every sequence of the batch: its gradients add, "
        "over the batch as over the rows.",
        "Flatten the leading dimensions into rows first, or sum over them afterwards.",
        wrong=lambda x, w, dy: (dy @ w.mT, x.mT @ dy),
    ),
    "dw averaged over the rows": Mistake(
        "You divided dw by the number of rows. What is used k times gets the sum of k gradients.",
        "If the loss is a mean, its 1/M is in dy already.",
        wrong=lambda x, w, dy: (dy @ w.mT, _rows(x).mT @ _rows(dy) / _rows(dy).shape[0]),
    ),
    "dw from the first batch element": Mistake(
        "Your dw is that of the first sequence of the batch alone.",
        "All leading dimensions are rows: [B, S, K] is [B·S, K] to a product.",
        wrong=lambda x, w, dy: (
            dy @ w.mT,
            x.reshape(-1, *x.shape[-2:])[0].mT @ dy.reshape(-1, *dy.shape[-2:])[0],
        ),
    ),
    "dy left out": Mistake(
        "Your answer does not depend on dy: it is the gradient of the plain sum of y.",
        "dy is the loss's gradient by y; dx = dy wᵀ and dw = xᵀ dy.",
        wrong=lambda x, w, dy: (torch.ones_like(dy) @ w.mT, _rows(x).mT @ torch.ones_like(_rows(dy))),
    ),
}


def layer_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, K] or [B, M, K], w [K, N], dy like y; in the strided case x is [B, M, K] in another order."""
    M, K, N = (case.sizes[s] for s in "MKN")
    lead = (case.sizes["B"],) if "B" in case.sizes else ()
    x = torch.randn(*lead, M, K, generator=generator)
    w = torch.randn(K, N, generator=generator)
    dy = torch.randn(*lead, M, N, generator=generator)
    x, w, dy = (t.to(case.dtype) for t in (x, w, dy))
    if case.layout == "strided":  # .view refuses such tensors, .reshape and .flatten copy them
        x, dy = (t.transpose(0, 1).contiguous().transpose(0, 1) for t in (x, dy))
    return {"x": x, "w": w, "dy": dy}


def layer(
    M: int, K: int, N: int, B: int = 0, dtype: torch.dtype = torch.float32, note: str = "", **more: object
) -> Case:
    """x [M, K], or with B [B, M, K], and w [K, N]."""
    label = (f"a batch of {B}, " if B else "") + f"{M}×{K} · {K}×{N}"
    sizes = {"M": M, "K": K, "N": N} | ({"B": B} if B else {})
    return build_case(label, sizes, dtype, note, tags={"batch": B > 0, "strided": False}, **more)


LAYERS = (
    layer(4, 2, 3, note="the example's sizes"),
    layer(7, 5, 11, seed=1),
    layer(6, 6, 6, note="all sizes equal", seed=2),
    layer(1, 8, 3, note="one row", seed=3),
    layer(5, 4, 7, 3, seed=4),
    layer(6, 3, 8, 2, note="transposed in memory", layout="strided", seed=5),
    layer(64, 32, 48, dtype=torch.float16, seed=6),
    layer(32, 24, 40, 4, torch.bfloat16, seed=7),
)

linear_backward = Exercise(
    name="linear_backward",
    lesson="01",
    kind=Kind.TORCH,
    title="The backward pass of a linear layer",
    signature="(x, w, dy) -> (dx, dw)",
    outputs=("dx", "dw"),
    inputs=layer_inputs,
    cases=LAYERS,
    judged=HowJudged(
        reference=layer_backward,
        twins=(layer_backward_per_batch,),
        gradient=True,
        call=without_autograd.call,
        seen=one_evaluation(layer_backward, layer_inputs),
        review=without_autograd.review_on(lambda: (layer_inputs(one, unforeseen()) for one in LAYERS)),
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
