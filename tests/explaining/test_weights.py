"""Weights that were read out of a wrong attention kernel say what is wrong with them, and no more."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from flashlearn.exercise import Case
from flashlearn.explaining.read_weights import Weights
from flashlearn.explaining.weight_leaks import find_leak
from flashlearn.explaining.weights import LOOKS
from flashlearn.outcome import Outcome, Status

OUTCOME = Outcome(Case("S 48"), Status.WRONG)


def weights(causal=False, S_q=48, S_k=48):
    """Right weights of S_q queries for S_k keys."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(S_q, S_k, generator=generator, dtype=torch.float64)
    visible = torch.ones(S_q, S_k, dtype=torch.bool)
    if causal:
        visible = visible.tril(S_k - S_q)
    bare, scores = scores, scores.masked_fill(~visible, -torch.inf)
    right = scores.softmax(-1).nan_to_num(0.0)
    return Weights(right.clone(), right, scores, visible, noise=1e-6, bare=bare)


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
    assert (
        "3 hidden pairs" in sentence and "key 9 has weight for query 5, which may see only keys" in sentence
    )


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
    assert forward.endswith("so the weights of a row do not sum to 1.") and "LSE" not in forward
    assert "as if another number were subtracted in place of LSE" in backward and "divided by" not in backward


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
    finding = find_leak(unmasked(w, (slice(0, 16), slice(0, 48))), OUTCOME)
    assert "Other tiles on the diagonal are masked" in finding.next_step
    shifted = changed(w, lambda p: p.diagonal(1).fill_(0.1))
    assert "Compare the mask" in find_leak(shifted, OUTCOME).next_step


def test_the_size_of_a_tile_is_not_said_where_two_sizes_fit():
    for blocks in ((8, 16), ()):
        w = dataclasses.replace(unmasked(weights(causal=True), *DIAGONAL), blocks=blocks)
        assert "tiles of" not in told(w)[0][1]


def test_a_key_that_no_query_weighs_is_called_unread_only_if_nothing_of_it_is_read():
    w = changed(weights(), lambda p: p[:, 32:].zero_())
    last = torch.arange(48) >= 32
    for rows, said in ((last, "k and v are never read there"), (~last, "although they are read")):
        ((_, sentence), *_) = told(dataclasses.replace(w, unread=({"k": rows, "v": rows}, {})))
        assert said in sentence
    ((_, sentence), *_) = told(w)
    assert "read" not in sentence


def test_pairs_without_weight_that_are_no_tile_are_counted_and_no_row_is_called_proportional():
    future = torch.ones(48, 48, dtype=torch.bool).triu(1)
    future[:, :32] = False
    w = changed(weights(), lambda p: p.masked_fill_(future, 0.0))
    ((name, sentence), *rest) = told(w)
    assert name == "some pairs have no weight" and not rest
    assert f"{int(future.sum())} pairs" in sentence and "All of them are pairs that a causal mask" in sentence
    ((_, sentence), *_) = told(changed(weights(), lambda p: p[3:9, 5:20:3].zero_()))
    assert "30 pairs" in sentence and "causal" not in sentence


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (lambda w, lse: (w.bare - lse).exp(), "weights that they would have without a mask"),
        (lambda w, lse: (-lse).exp(), "the weight of a score of 0"),
        (lambda w, lse: torch.ones_like(w.bare), "the weight of an exponent of 0"),
        (lambda w, lse: torch.full_like(w.bare, 0.2), "which may see"),
    ],
)
def test_what_a_hidden_pair_weighs_tells_what_stands_in_the_place_of_its_score(weight, said):
    w = weights(causal=True)
    lse = w.scores.logsumexp(1, keepdim=True)
    got = torch.where(w.visible, w.right, weight(w, lse))
    finding = find_leak(dataclasses.replace(w, got=got, recomputed=True), OUTCOME)
    assert said in finding.sentence and ("weight of" in finding.sentence) is ("weight of" in said)


def test_a_diagonal_that_is_shifted_is_told_by_how_much():
    w = weights(causal=True)
    lse = w.scores.logsumexp(1, keepdim=True)
    seen = torch.ones(48, 48, dtype=torch.bool).tril(2)
    got = torch.where(seen, (w.bare - lse).exp(), 0.0)
    finding = find_leak(dataclasses.replace(w, got=got, recomputed=True), OUTCOME)
    assert "those with j ≤ i + S_k − S_q + 2" in finding.sentence


def test_tiles_of_p_in_the_other_orientation_are_told_from_a_leak():
    w = weights(causal=True)
    for size in (16, 64):
        turned = torch.cat(
            [torch.cat([tile.mT for tile in rows.split(size, 1)], 1) for rows in w.right.split(size, 0)]
        )
        ((name, sentence), *_) = told(dataclasses.replace(w, got=turned, blocks=(size,)))
        assert name == "P not transposed" and "query 0 gives key 1" in sentence


def test_rows_that_count_a_whole_number_of_times_are_said_to_be_counted_again():
    w = dataclasses.replace(changed(weights(), lambda p: p[16:32].mul_(2)), recomputed=True)
    ((name, sentence),) = told(w)
    assert name == "rows do not sum to 1" and sentence.startswith("Queries 16 to 31 count twice")
    uneven = torch.ones(48, 1, dtype=torch.float64).index_fill(0, torch.arange(16, 32), 1.7)
    ((_, sentence),) = told(dataclasses.replace(w, got=w.right * uneven))
    assert "count" not in sentence


def test_an_lse_that_was_kept_from_falling_below_a_number_is_named_with_the_number():
    w = weights()
    lse = w.scores.logsumexp(1)
    bound = float(lse.quantile(0.4))
    got = (w.scores - lse.clamp(min=bound)[:, None]).exp()
    ((name, sentence),) = told(dataclasses.replace(w, got=got, recomputed=True))
    assert name == "LSE is bounded" and f"never below {bound:.3g}" in sentence
    ((name, _),) = told(dataclasses.replace(w, got=got))  # a forward kernel is given no LSE
    assert name == "rows do not sum to 1"


def test_whole_queries_without_weight_that_are_no_tile_are_named_as_such():
    ((_, sentence), *_) = told(changed(weights(), lambda p: p[37].zero_()))
    assert sentence.startswith("Query 37 gives no weight to any key")
    ((_, sentence), *_) = told(changed(weights(), lambda p: p[:, 5:8].zero_()))
    assert sentence.startswith("At least 3 keys get no weight") and "one of them is key 5" in sentence
