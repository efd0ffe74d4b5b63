"""Each rule finds its own mistake and keeps quiet about the others'; a right kernel gets no finding."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import torch

from flashlearn.exercise import Case, Exercise, HowJudged, Kind
from flashlearn.explaining import diagnose
from flashlearn.explaining.findings import SURE
from flashlearn.explaining.findings.rule import SILENT, Clue
from flashlearn.explaining.findings.some_heads import SomeHeads
from flashlearn.explaining.stages import holding
from flashlearn.judging.cases import run
from flashlearn.outcome import Status


def square(x):
    """An exercise without named mistakes, so that only rules can speak."""
    return x @ x.T + torch.arange(x.shape[0], dtype=x.dtype)[:, None]


EXERCISE = Exercise(
    name="square_for_rules",
    lesson="99",
    kind=Kind.TORCH,
    title="",
    signature="(x) -> y",
    outputs=("y",),
    inputs=lambda case, generator: {"x": torch.randn(40, 8, generator=generator).to(case.dtype)},
    cases=(Case("fp32", seed=1), Case("again", seed=2)),
    judged=HowJudged(
        reference=square,
    ),
)


def edited(change):
    def wrong(x):
        y = square(x)
        return change(y)

    return wrong


def last_block(y):
    y[32:] += 1
    return y


def one_row(y):
    y[5] += 1
    return y


def one_nan(y):
    y[3, 4] = float("nan")
    return y


WRONG = {
    "shape": edited(lambda y: y[:-1]),
    "not finite": edited(one_nan),
    "sign": edited(lambda y: -y),
    "zero everywhere": edited(lambda y: 0 * y),
    "nearly zero everywhere": edited(lambda y: 1e-12 * y * torch.linspace(1, 2, y.shape[1])),
    "transposed": edited(lambda y: y.T.contiguous()),
    "constant factor": edited(lambda y: 0.125 * y),
    "ragged tail": edited(last_block),
    "some rows": edited(one_row),
    "precision": edited(lambda y: y * (1 + 2e-6 * torch.randn(y.shape).sign())),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_rule_finds_its_own_mistake(name):
    outcomes = run(EXERCISE, WRONG[name])
    finding = diagnose(EXERCISE, outcomes)
    assert finding is not None and finding.mistake == name, outcomes[0].message
    assert finding.sentence.endswith((".", "?"))


@pytest.mark.parametrize("name", WRONG)
def test_no_rule_that_names_a_deed_fires_on_another_one(name):
    outcomes = run(EXERCISE, WRONG[name])
    clues = [Clue(EXERCISE, o, o.outputs[0]) for o in outcomes]
    fired = {held.finding.mistake for rule in SURE if (held := holding([rule], clues)) is not None}
    assert fired <= {name}


def test_the_factor_is_told():
    finding = diagnose(EXERCISE, run(EXERCISE, WRONG["constant factor"]))
    assert "0.125" in finding.sentence


def test_a_right_answer_gets_no_finding():
    outcomes = run(EXERCISE, square)
    assert {o.status for o in outcomes} == {Status.PASS}
    assert diagnose(EXERCISE, outcomes) is None


def test_an_error_that_is_large_beside_the_answer_is_not_called_rounding():
    coarse = edited(lambda y: y + 0.1 * y.abs().max() * torch.linspace(-1, 1, y.numel()).view(y.shape).cos())
    finding = diagnose(EXERCISE, run(EXERCISE, coarse))
    assert finding is None or "precision" not in finding.names


def test_noise_that_no_rule_knows_gets_no_name():
    noisy = edited(lambda y: y + torch.randn(y.shape, generator=torch.Generator().manual_seed(0)))
    assert diagnose(EXERCISE, run(EXERCISE, noisy)) is None


def test_right_numbers_at_the_places_of_an_input_s_strides_are_told():
    exercise = dataclasses.replace(
        EXERCISE,
        inputs=lambda case, generator: {"x": torch.randn(9, 4, generator=generator).t()},
        judged=HowJudged(reference=lambda x: 2 * x),
    )

    def stored(x):
        y = torch.empty(x.numel())
        y.as_strided(x.shape, x.stride()).copy_(2 * x)
        return y.view(x.shape)

    finding = diagnose(exercise, run(exercise, stored))
    assert finding.names == ("stored with other strides",) and "the strides of x" in finding.sentence
    finding = diagnose(exercise, run(exercise, lambda x: stored(x).flip(0)))
    assert finding is None or finding.names != ("stored with other strides",)


def heads_clue(expected, bad):
    outcome = SimpleNamespace(case=SimpleNamespace(name="a case"))
    return SimpleNamespace(name="y", expected=expected, bad=bad, heads=2, outcome=outcome)


def test_a_head_that_is_to_be_0_says_nothing_of_whether_some_heads_are_right():
    expected = torch.ones(1, 3, 4)
    expected[:, 0] = 0
    bad = torch.tensor([False, True, True])[None, :, None].expand(1, 3, 4)
    assert SomeHeads.look(heads_clue(expected, bad)) is SILENT
    assert SomeHeads.look(heads_clue(torch.ones(1, 3, 4), bad)).wrong == (1, 2)
    assert SomeHeads.look(heads_clue(expected, torch.ones_like(bad))) is None
