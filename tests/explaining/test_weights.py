"""Weights that were read out of a wrong attention kernel say what is wrong with them, and no more."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from flashlearn.exercise import Case
from flashlearn.explaining import weight_faults
from flashlearn.outcome import Outcome, Status

OUTCOME = Outcome(Case("S 48"), Status.WRONG)
LOOKS = (
    weight_faults.find_leak,
    weight_faults.find_missing,
    weight_faults.find_row_factors,
    weight_faults.find_scaled,
)


def weights(causal=False, S_q=48, S_k=48):
    """Right weights of S_q queries for S_k keys."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(S_q, S_k, generator=generator, dtype=torch.float64)
    visible = torch.ones(S_q, S_k, dtype=torch.bool)
    if causal:
        visible = visible.tril(S_k - S_q)
        scores = scores.masked_fill(~visible, -torch.inf)
    right = scores.softmax(-1).nan_to_num(0.0)
    return weight_faults.Weights(right.clone(), right, scores, visible, noise=1e-6)


def changed(w, change):
    got = w.right.clone()
    change(got)
    return dataclasses.replace(w, got=got)


def told(w):
    return [
        (finding.mistake, finding.sentence) for look in LOOKS if (finding := look(w, OUTCOME)) is not None
    ]


@pytest.mark.parametrize("w", [weights(), weights(causal=True), weights(causal=True, S_q=48, S_k=20)])
def test_right_weights_say_nothing(w):
    assert told(w) == []


def test_a_leak_names_its_first_pair_and_what_the_query_may_see():
    ((name, sentence), *_) = told(changed(weights(causal=True), lambda p: p[5, 9:12].fill_(0.1)))
    assert name == "leak from the future"
    assert "3 hidden pairs" in sentence and "(5, 9)" in sentence and "keys 0 to 5" in sentence


def test_weights_of_queries_that_see_nothing_are_told_apart_from_a_leak_into_others():
    w = changed(weights(causal=True, S_q=48, S_k=20), lambda p: p[:28].fill_(1 / 20))
    ((name, sentence), *_) = told(w)
    assert name == "leak from the future"
    assert (
        "28 of 48 queries" in sentence and "may see no key" in sentence and "The others are right" in sentence
    )


@pytest.mark.parametrize(
    ("keys", "name"),
    [(slice(32, None), "last tile missing"), (slice(0, 16), "first tile missing"), (slice(37, None), None)],
)
def test_a_missing_tile_is_named_where_it_can_be_one(keys, name):
    found = [mistake for mistake, _ in told(changed(weights(), lambda p: p[:, keys].zero_()))]
    assert found[:1] == [name] if name else "last tile missing" not in found


def test_rows_that_do_not_sum_to_1_are_explained_by_what_the_kernel_was_given():
    w = changed(weights(), lambda p: p.mul_(torch.linspace(0.5, 2.0, 48)[:, None]))
    ((name, forward),) = told(w)
    ((_, backward),) = told(dataclasses.replace(w, recomputed=True))
    assert name == "rows do not sum to 1"
    assert "divided by a wrong number" in forward and "LSE" not in forward
    assert "exp(S − LSE)" in backward and "divided by" not in backward
