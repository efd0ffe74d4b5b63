"""Lesson 15, second half: formulas are derivatives, reviews find waste, hidden draws find other faults."""

from __future__ import annotations

import functools
import itertools
import math

import pytest
import torch

from flashlearn.exercise import Mistake
from flashlearn.kernels import varlen_attention
from flashlearn.kernels.capstone_attention import capstone
from flashlearn.lessons import find
from flashlearn.lessons.lesson_15_variants import capstone as capstone_exercise
from flashlearn.lessons.lesson_15_variants import capstone_draws, capstone_formulas, philox
from flashlearn.lessons.lesson_15_variants.dropout_formulas import dropout_attention
from flashlearn.lessons.lesson_15_variants.sink_formulas import sink_attention
from flashlearn.lessons.lesson_15_variants.varlen import skips_other_sequences
from flashlearn.lessons.lesson_15_variants.varlen_formulas import varlen_attention as varlen_in_torch
from flashlearn.running.answer import Here


def leaf(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()


def assert_derivatives(o: torch.Tensor, do: torch.Tensor, leaves: tuple, got: tuple) -> None:
    """O and its gradients by autograd are what a formula gives: (o, lse, …)."""
    expected = (o, *torch.autograd.grad(o, leaves, do))
    for right, mine in zip(expected, (got[0], *got[2:]), strict=True):
        torch.testing.assert_close(mine, right.detach())


def test_the_gradients_of_dropout_are_those_of_autograd():
    q, k, v, do = leaf(2, 3, 5, 4), leaf(2, 3, 7, 4), leaf(2, 3, 7, 4), leaf(2, 3, 5, 4).detach()
    kept = philox.uniform(9, philox.positions(2, 3, 5, 7)) >= 0.3
    o = ((0.5 * q @ k.mT).softmax(-1) * kept / 0.7) @ v
    got = dropout_attention(q.detach(), k.detach(), v.detach(), do, 0.3, 9, 0.5)
    assert_derivatives(o, do, (q, k, v), got)


def test_the_gradients_of_a_sink_are_those_of_one_more_key_without_a_value():
    q, k, v, logits = leaf(2, 3, 5, 4), leaf(2, 3, 7, 4), leaf(2, 3, 7, 4), leaf(3)
    do = leaf(2, 3, 5, 4).detach()
    s = torch.cat([0.5 * q @ k.mT, logits.view(1, 3, 1, 1).expand(2, 3, 5, 1)], -1)
    o = s.softmax(-1)[..., :-1] @ v
    tensors = (t.detach() for t in (q, k, v))
    got = sink_attention(*tensors, do, logits.detach(), 0.5, causal=False)
    assert_derivatives(o, do, (q, k, v, logits), got)
    torch.testing.assert_close(got[1], s.logsumexp(-1).detach())


@pytest.mark.parametrize("causal", [False, True])
def test_a_ragged_batch_is_its_sequences_one_by_one(causal):
    of_q, of_k = (torch.tensor(cuts) for cuts in ([0, 3, 3, 10], [0, 4, 6, 15]))
    q, k, v, do = leaf(1, 2, 10, 4), leaf(1, 2, 15, 4), leaf(1, 2, 15, 4), leaf(1, 2, 10, 4).detach()
    outputs = []
    pairs = (itertools.pairwise(cuts.tolist()) for cuts in (of_q, of_k))
    for (first, end), (first_key, end_key) in zip(*pairs, strict=True):
        s = 0.5 * q[:, :, first:end] @ k[:, :, first_key:end_key].mT
        if causal:
            hidden = ~torch.ones(s.shape[-2:], dtype=torch.bool).tril(s.shape[-1] - s.shape[-2])
            s = s.masked_fill(hidden, -math.inf)
        outputs.append(s.softmax(-1) @ v[:, :, first_key:end_key])
    tensors = (t.detach() for t in (q, k, v))
    got = varlen_in_torch(*tensors, do, of_q, of_k, causal, 0.5)
    assert_derivatives(torch.cat(outputs, 2), do, (q, k, v), got)


def test_everything_at_once_has_the_gradients_of_autograd():
    case = capstone_draws.capstone_case(
        [5, 9], [7, 9], D=4, H=4, H_k=2, window=4, cap=1.5, p=0.3, slopes=True, sinks=True, seed=3
    )
    given = capstone_draws.capstone_inputs(case, case.generator())
    given = {n: t.double() if torch.is_tensor(t) and t.is_floating_point() else t for n, t in given.items()}
    got = capstone_formulas.everything(**given)
    names = ("q", "k", "v", "logits")
    leaves = {name: given[name].clone().requires_grad_() for name in names}
    o = capstone_formulas.everything(**{**given, **leaves})[0]
    assert_derivatives(o, given["do"], tuple(leaves.values()), got)


def test_the_review_of_varlen_passes_the_course_s_and_finds_idle_programs(monkeypatch):
    answer = Here(varlen_attention.varlen, find("varlen"))
    assert skips_other_sequences(answer, None) == ""

    def of_the_longest(cu_seqlens, BLOCK):
        lengths = cu_seqlens.diff().tolist()
        blocks = range(-(-max(lengths) // BLOCK))
        return torch.tensor([(n, b) for b in range(len(lengths)) for n in blocks], dtype=torch.int32)

    monkeypatch.setattr(varlen_attention, "block_list", of_the_longest)
    assert "write nothing" in skips_other_sequences(answer, None)


def test_the_review_of_varlen_finds_products_of_two_sequences():
    exercise = find("varlen")
    packed = functools.partial(dense_under_a_mask, exercise)
    assert "other sequences" in skips_other_sequences(Here(packed, exercise), None)


def dense_under_a_mask(exercise, q, k, v, do, cu_seqlens_q, cu_seqlens_k, causal, alpha):
    """One sequence in the kernel, whatever comes out: its products are what counts."""
    one = [torch.tensor([0, t.shape[2]], dtype=torch.int32) for t in (q, k)]
    return varlen_attention.varlen(q, k, v, do, *one, causal, alpha)


def test_hidden_draws_are_made_by_their_seed_and_differ_from_one_another():
    assert capstone_draws.hidden_draws(5, 6) == capstone_draws.hidden_draws(5, 6)
    names = {case.name for seed in range(6) for case in capstone_draws.hidden_draws(seed, 3)}
    assert len(names) > 15
    for case in capstone_draws.board_draws(7, tokens=512):
        given = capstone_draws.capstone_inputs(case, case.generator())
        assert given["cu_seqlens_q"][-1] == given["q"].shape[2] <= 2 * 512


def test_an_answer_that_is_right_in_the_declared_cases_alone_fails_a_hidden_draw(monkeypatch):
    monkeypatch.setattr(capstone_exercise.secrets, "randbelow", lambda most: 5)
    monkeypatch.setattr(capstone_exercise, "HIDDEN", 1)
    (case,) = capstone_draws.hidden_draws(5, 1)
    exercise = find("capstone")

    def halves_others(*inputs):
        outputs = capstone(*inputs)
        return outputs if inputs[0].shape != capstone_exercise.repeated(5, 0)["q"].shape else inputs[:1] * 6

    assert capstone_exercise.passes_hidden_draws(Here(capstone, exercise), None) == ""
    sentence = capstone_exercise.passes_hidden_draws(Here(halves_others, exercise), None)
    assert case.name in sentence and "repeated(5, 0)" in sentence


def test_each_exercise_names_at_least_five_mistakes():
    for name in ("varlen", "dropout", "sinks", "capstone"):
        mistakes = find(name).explained.mistakes
        assert len(mistakes) >= 5 and all(isinstance(each, Mistake) for each in mistakes.values())
