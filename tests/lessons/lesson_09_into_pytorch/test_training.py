"""The character-level transformer: one seed, one run; attention is a parameter, and it matters."""

import dataclasses
import math

import pytest
import torch

from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training

TINY = dataclasses.replace(training.SMALL, layers=1, head_dim=16, batch=2, steps=4)


@pytest.fixture(autouse=True)
def one_thread():
    with training.one_thread():
        yield


def a_run(size=TINY, attention=training.sdpa, seed=0):
    data = training.batches(training.text(), size, seed)
    return training.train(size, training.initial(size, seed), data, attention)


def test_the_text_is_a_book_in_ascii_and_comes_with_its_licence():
    book = training.TEXT.read_text(encoding="ascii")
    assert book.startswith("Persuasion") and book.rstrip().endswith("Finis")
    assert len(training.text()) == len(book) < 500_000
    licence = (training.TEXT.parent / "README.md").read_text(encoding="utf-8")
    assert "public domain" in licence and "r-cran-janeaustenr" in licence


def test_numbers_and_characters_are_two_ways_of_writing_one_text():
    tokens = training.text()[:200]
    assert "".join(training.characters()[i] for i in tokens) == training.TEXT.read_text()[:200]


def test_batches_depend_on_the_seed_alone_and_are_windows_of_the_text():
    tokens = training.text()
    one, same, other = (training.batches(tokens, TINY, seed) for seed in (0, 0, 1))
    assert one.shape == (TINY.steps, TINY.batch, TINY.context + 1)
    assert torch.equal(one, same) and not torch.equal(one, other)
    window = "".join(training.characters()[i] for i in one[0, 0])
    assert window in training.TEXT.read_text()


def test_one_seed_gives_one_run():
    assert torch.equal(a_run(), a_run())
    assert not torch.equal(a_run(), a_run(seed=1))


def test_the_first_loss_is_nearly_that_of_equal_odds():
    assert abs(float(a_run()[0]) - math.log(len(training.characters()))) < 0.1


def test_the_start_is_one_vector_in_the_order_of_the_parameters():
    start = training.initial(TINY, seed=0)
    model = training.Transformer(TINY, start)
    assert torch.equal(torch.nn.utils.parameters_to_vector(model.parameters()), start)
    assert training.Transformer(TINY, start.double()).head.weight.dtype == torch.float64


def test_a_run_does_not_change_what_it_starts_from():
    start = training.initial(TINY, seed=0)
    before = start.clone()
    training.train(TINY, start, training.batches(training.text(), TINY, 0))
    assert torch.equal(start, before)


def test_the_model_sees_no_later_character():
    model = training.Transformer(TINY, training.initial(TINY, seed=0))
    x = training.text()[:16][None]
    changed = x.clone()
    changed[0, 10] = (changed[0, 10] + 1) % len(training.characters())
    with torch.no_grad():
        difference = (model(x, training.sdpa) - model(changed, training.sdpa)).abs().amax(dim=-1)[0]
    assert difference[:10].max() == 0 and difference[10:].min() > 0


@pytest.mark.parametrize("attention", [training.plain, lambda q, k, v: flash_attention(q, k, v, True)])
def test_another_right_attention_gives_the_same_curve(attention):
    assert (a_run() - a_run(attention=attention)).abs().max() < 1e-5


def test_the_small_run_learns_and_owes_part_of_it_to_attention():
    start = training.initial(training.SMALL, 0)
    data = training.batches(training.text(), training.SMALL, 0)
    with_attention = training.train(training.SMALL, start, data)
    without = training.train(training.SMALL, start, data, lambda q, k, v: torch.zeros_like(v))
    assert len(with_attention) >= 200
    assert with_attention[-25:].mean() < with_attention[:5].mean() - 1.5
    assert with_attention[-25:].mean() < without[-25:].mean() - 0.1


def test_a_sample_is_as_long_as_asked_and_made_of_the_book_s_characters():
    model = training.Transformer(TINY, training.initial(TINY, seed=0))
    written = training.sample(model, training.sdpa, length=TINY.context + 5)
    assert len(written) == TINY.context + 5
    assert set(written) <= set(training.characters())


def test_one_thread_gives_the_others_back():
    torch.set_num_threads(2)
    with training.one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
