"""`capstone`: one attention with every feature, in declared cases and in hidden draws."""

from __future__ import annotations

import dataclasses
import functools
import secrets
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flashlearn.exercise import (
    Earlier,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Mistake,
    Prepared,
    Work,
)
from flashlearn.judging.cases import run
from flashlearn.lessons.lesson_15_variants import capstone_formulas
from flashlearn.lessons.lesson_15_variants.both_passes import both, work_of
from flashlearn.lessons.lesson_15_variants.capstone_draws import (
    capstone_case,
    capstone_inputs,
    hidden_draws,
)
from flashlearn.lessons.lesson_15_variants.capstone_formulas import PLACED_COLUMNS, PLACED_ROWS, everything
from flashlearn.lessons.lesson_15_variants.varlen import visible_pairs
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.outcome import Status
from flashlearn.running.answer import Answer

formula = faulty_formula(everything)

MISTAKES = {
    "cap after the slope": Mistake(
        "The slope is taken off before the cap. A score is capped first, and then loses what the distance "
        "costs.",
        "S is cap · tanh(x / cap) − slope · distance, where x = alpha q · k.",
        **formula("cap after the slope"),
    ),
    "slope in the cap's derivative": Mistake(
        "dQ and dK take the derivative of the cap from the finished score, which has the slope as well: 1 − "
        "(s / cap)² holds for the capped score alone.",
        "tanh′ = 1 − tanh². What was the argument of tanh in the forward pass?",
        **formula("slope in the derivative"),
    ),
    "no derivative of the cap": Mistake(
        "The derivative of the cap is missing: dQ and dK are those of a score that is not capped, with the "
        "P of one that is.",
        "What is the derivative of cap · tanh(x / cap) by x?",
        **formula("no derivative of the cap"),
    ),
    "numbers counted within the sequence": Mistake(
        "Dropout counts its numbers within each sequence, not over packed rows and columns.",
        "In a weight's number, (h · T_q + row) · T_k + column, row and column are those of the packed "
        "tensors.",
        **formula(
            "numbers counted in the sequence",
            also=(("numbers counted in the sequence", "and the sequence's number"),),
        ),
    ),
    "columns counted within the sequence": Mistake(
        "The column in a weight's number is counted within the sequence, and the row is not. The numbers are "
        "right only in the first sequence.",
        "Key j of a sequence has the packed column j plus the border where the sequence's keys begin.",
        **formula(PLACED_COLUMNS),
    ),
    "rows counted within the sequence": Mistake(
        "The row in a weight's number is counted within the sequence, and the column is not. The numbers are "
        "right only in the first sequence.",
        "Query i of a sequence has the packed row i plus the border where the sequence's queries begin.",
        **formula(PLACED_ROWS),
    ),
    "rows and columns counted within the sequence": Mistake(
        "The row and the column in a weight's number are counted within the sequence. The numbers are right "
        "only in the first sequence.",
        "Packed rows and columns are counted from the first sequence's beginning.",
        **formula(PLACED_ROWS, PLACED_COLUMNS),
    ),
    "distances in the packed batch": Mistake(
        "The slope multiplies a distance in the packed tensors. It is the distance within the sequence only "
        "where this sequence, and each one before it, has as many keys as queries.",
        "In a distance, i + S_k − S_q − j, all numbers are those of one sequence.",
        **formula("slopes counted in the batch"),
    ),
    "window one too wide": Mistake(
        "A query sees one key more than its window has.",
        "With a window of 1, which keys does a query see?",
        **formula("window one too wide"),
    ),
    "heads dealt round": Mistake(
        "In your answer head h of Q takes head h % H_k of K and V. The heads of a group are adjacent: head "
        "h uses head h // (H / H_k) of K and V.",
        "With 4 heads of Q and 2 of K, which two heads of Q use the first head of K?",
        **formula("heads dealt round"),
    ),
    "last sequence in dlogits": Mistake(
        "The gradient of the logits is the last sequence's share. A head has one logit, which all sequences "
        "use.",
        "The gradient of a logit is the sum over the queries of all sequences.",
        **formula("last sequence in dlogits"),
    ),
}


HIDDEN = 3
"""Draws that no one has seen before, in every check."""


def passes_hidden_draws(answer: Answer, earlier: Earlier) -> str:
    """A sentence about the first of some draws, new in every check, in which the answer is wrong."""
    seed = secrets.randbelow(10**6)
    drawn = dataclasses.replace(capstone, cases=hidden_draws(seed, HIDDEN))
    for outcome in run(drawn, answer):
        if outcome.status is not Status.PASS:
            return (
                f"The declared cases are right. A hidden draw is not ({outcome.status.value}): "
                f"{outcome.case.name}. repeated({seed}, {drawn.cases.index(outcome.case)}) of "
                "flashlearn.lessons.lesson_15_variants.capstone gives its arguments again."
            )
    return ""


def repeated(seed: int, number: int) -> Inputs:
    """The arguments of a hidden draw."""
    case = hidden_draws(seed, number + 1)[number]
    return capstone_inputs(case, case.generator())


def padded_sdpa(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, slopes: Tensor, logits: Tensor, cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor, causal: bool, window: int, cap: float, p: float, seed: int, alpha: float,
) -> Callable[[], tuple[Tensor, ...]]:  # fmt: skip
    """Both passes of SDPA on the sequences padded to the longest, without what it does not have.

    It has shared heads, a causal mask and dropout; no window, cap, slopes or sinks.
    """
    n = len(cu_seqlens_q) - 1
    S_q, S_k = (int(cuts.diff().max()) for cuts in (cu_seqlens_q, cu_seqlens_k))
    many = [
        torch.randn(n, t.shape[1], S, t.shape[3], dtype=t.dtype, device=t.device)
        for t, S in ((q, S_q), (k, S_k), (v, S_k), (do, S_q))
    ]

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        groups = q.shape[1] != k.shape[1]
        return scaled_dot_product_attention(
            q, k, v, is_causal=causal, scale=alpha, dropout_p=p, enable_gqa=groups
        )

    return functools.partial(both, attend, many[3], *many[:3])


def capstone_work(inputs: Inputs) -> Work:
    """Seven products over the pairs that are seen."""
    return work_of(inputs, visible_pairs(inputs, inputs["window"]))


capstone = Exercise(
    name="capstone",
    lesson="15",
    kind=Kind.KERNEL,
    title="One attention with every feature",
    signature="(q, k, v, do, slopes, logits, cu_seqlens_q, cu_seqlens_k, causal, window, cap, p, seed, "
    "alpha) -> (o, lse, dq, dk, dv, dlogits)",
    outputs=("o", "lse", "dq", "dk", "dv", "dlogits"),
    inputs=capstone_inputs,
    cases=(
        capstone_case([37, 5, 60], causal=False, seed=1),
        capstone_case([70], H=4, H_k=2, window=20, seed=2),
        capstone_case([20, 50], [33, 20], cap=2.0, slopes=True, seed=3),
        capstone_case([40, 40], H=4, H_k=1, sinks=True, p=0.3, seed=4),
        capstone_case(
            [50, 3, 33], [40, 9, 70], H=4, H_k=2, window=17, cap=1.5, slopes=True, sinks=True, p=0.2, seed=5
        ),
        capstone_case([64, 30], D=32, H=4, H_k=2, window=33, sinks=True, dtype=FP16, seed=6),
        capstone_case([40, 70], D=64, cap=3.0, slopes=True, p=0.1, dtype=BF16, seed=7),
        capstone_case([1, 20], [50, 20], D=24, H=3, window=1, slopes=True, layout="strided", seed=8),
        capstone_case([7, 4], [40, 9], seed=11),
        capstone_case([300, 1, 700], D=64, H=4, H_k=2, window=200, sinks=True, dtype=FP16, gpu=True, seed=9),
        capstone_case([500, 900], D=128, H=4, cap=20.0, slopes=True, p=0.1, dtype=BF16, gpu=True, seed=10),
    ),
    judged=HowJudged(
        reference=everything,
        twins=(
            capstone_formulas.as_kernels_round,
            capstone_formulas.in_reverse,
            capstone_formulas.scaled_first,
        ),
        gradient=True,
        atomics=True,
        output_dtypes={"lse": torch.float32},
        work=capstone_work,
        review=passes_hidden_draws,
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=Prepared(padded_sdpa),
        peer_name="sdpa_padded",
        case=capstone_case([4096, 4096], D=128, H=16, H_k=4, dtype=BF16, gpu=True, seed=40),
    ),
    points=5,
    solution="flashlearn.kernels.capstone_attention:capstone",
)
