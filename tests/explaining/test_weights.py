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
    assert "3 hidden pairs" in sentence and "key 9 of query 5" in sentence and "keys 0 to 5" in sentence


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
    assert "divided by is not the sum" in forward and "LSE" not in forward
    assert "as if LSE were another number" in backward and "divided by" not in backward


def scan_without_rescaling(w, size):
    """P of a scan that never multiplies what it summed by exp(m_old − m_new)."""
    got, top = torch.zeros_like(w.right), torch.full((len(w.right), 1), -torch.inf, dtype=torch.float64)
    for start in range(0, w.scores.shape[1], size):
        tile = w.scores[:, start : start + size]
        top = torch.maximum(top, tile.amax(1, keepdim=True))
        got[:, start : start + size] = (tile - top).exp()
    return dataclasses.replace(w, got=got / got.sum(1, keepdim=True))


def test_without_rescaling_only_the_proportions_within_a_tile_are_called_right():
    w = dataclasses.replace(scan_without_rescaling(weights(), 32), blocks=(16, 32))
    ((name, sentence),) = told(w)
    assert name == "not rescaled"
    assert "Within a tile of 32 keys the weights of a row are in the right proportions" in sentence


def test_tiles_that_do_not_fit_together_after_the_maximum_are_not_called_unrescaled():
    def change(p):
        p[:, 32:] *= torch.linspace(1.5, 3.7, 48)[:, None]
        p[:, :16] *= 0.7

    w = dataclasses.replace(changed(weights(), change), blocks=(16,))
    assert "not rescaled" not in {name for name, _ in told(w)}


def test_a_tile_of_which_half_leaks_is_not_said_to_be_taken_whole():
    half = weights(causal=True)
    hidden = ~half.visible
    hidden[:, 16:] = False
    hidden[:, ::2] = False
    w = dataclasses.replace(changed(half, lambda p: p.masked_fill_(hidden, 0.1)), blocks=(16,))
    assert all("used unmasked" not in sentence for _, sentence in told(w))


def test_the_others_are_called_right_only_if_they_are():
    w = weights(causal=True, S_q=48, S_k=20)
    blind = changed(w, lambda p: p[:28].fill_(1 / 20))
    also = changed(w, lambda p: (p[:28].fill_(1 / 20), p[28:].mul_(0.5)))
    (_, of_blind), *_ = told(blind)
    (_, of_both), *_ = told(also)
    assert "The others are right." in of_blind
    assert "right" not in of_both


def unmasked(w, *tiles):
    """Weights in which these tiles, (queries, keys) as slices, are taken without the mask."""

    def change(p):
        for tile in tiles:
            p[tile] = torch.where(w.visible[tile], p[tile], 0.1)

    return dataclasses.replace(changed(w, change), blocks=(16,))


DIAGONAL = [(slice(a, a + 16), slice(a, a + 16)) for a in (0, 16, 32)]


def test_diagonal_tiles_are_said_to_be_unmasked_only_if_all_of_them_are():
    w = weights(causal=True)
    ((_, of_all), *_) = told(unmasked(w, *DIAGONAL))
    ((_, of_one), *_) = told(unmasked(w, DIAGONAL[1]))
    assert "crosses: those tiles of 16 are used unmasked" in of_all
    assert "crosses: some of those tiles of 16 are used unmasked" in of_one


def test_the_mask_is_not_doubted_where_other_tiles_on_the_diagonal_have_it():
    w = weights(causal=True)
    finding = weight_faults.find_leak(unmasked(w, (slice(0, 16), slice(0, 48))), OUTCOME)
    assert "Other tiles on the diagonal are masked" in finding.next_step
    shifted = changed(w, lambda p: p.diagonal(1).fill_(0.1))
    assert "Compare the mask" in weight_faults.find_leak(shifted, OUTCOME).next_step


def test_the_size_of_a_tile_is_not_said_where_two_sizes_fit():
    for blocks in ((8, 16), ()):
        w = dataclasses.replace(unmasked(weights(causal=True), *DIAGONAL), blocks=blocks)
        assert "tiles of" not in told(w)[0][1]
