"""Lesson 13, sittings 1 and 4 to 6: faults keep their names whatever a kernel's names and lines are."""

from __future__ import annotations

import inspect
import re

import pytest
import torch

import flashlearn
from flashlearn import compiler
from flashlearn.interpreter.gluon.sync_faults import SyncFault, traits
from flashlearn.interpreter.route import observing
from flashlearn.lessons import find
from flashlearn.lessons.lesson_13_hopper import (
    formulas,
    ring_pictures,
    specialised_matmul,
    tma_copy,
    tma_ring,
    wgmma_matmul,
)
from flashlearn.lessons.shared.variants import load, variant
from flashlearn.outcome import Status

KERNELS = {
    "tma_copy": tma_copy.kernel,
    "tma_ring": tma_ring.kernel,
    "wgmma_matmul": wgmma_matmul.kernel,
    "specialised_matmul": specialised_matmul.kernel,
}
NAMES = {"tile": "buffer", "full": "ready", "empty": "free_again", "ring": "slots", "acc": "sums"}


def named(exercise: str, launcher) -> str:
    report = flashlearn.check(exercise, launcher, demo=True)
    assert report.status is Status.CRASHED, str(report)
    return report.finding.mistake


@pytest.mark.parametrize(
    "exercise, fault, mistake",
    [
        ("wgmma_matmul", "no wait for products", "a slot is filled while a product reads it"),
        ("wgmma_matmul", "two left under way", "a slot is filled while a product reads it"),
        ("specialised_matmul", "producer's phase never turns", "filled without being empty"),
    ],
)
def test_a_mistake_made_in_another_way_has_the_same_name(exercise, fault, mistake):
    assert named(exercise, KERNELS[exercise].variant(fault)) == mistake


def renamed(exercise: str, fault: str):
    """The faulty launcher, ten lines further down, with other names for its buffers and barriers."""
    function, kernels = KERNELS[exercise].launcher, KERNELS[exercise].kernels
    text = "\n" * 10 + "\n\n\n".join(inspect.getsource(getattr(k, "fn", k)) for k in (*kernels, function))
    for old, new in KERNELS[exercise].edits[fault]:
        text = text.replace(old, new)
    for old, new in NAMES.items():
        text = re.sub(rf"(?<![.\w]){old}\b(?!=)", new, text)
    return load(text, exercise, f"renamed {exercise} {fault}", function.__globals__)


@pytest.mark.parametrize(
    "exercise, fault, mistake",
    [
        ("tma_copy", "no wait", "the tile is not waited for"),
        ("tma_ring", "phase of the tile", "the phase turns with every tile"),
        ("wgmma_matmul", "slot still read", "a slot is filled while a product reads it"),
        ("specialised_matmul", "waits for the first emptying", "the first emptying is waited for"),
    ],
)
def test_other_names_and_other_lines_change_nothing(exercise, fault, mistake):
    assert named(exercise, renamed(exercise, fault)) == mistake


def test_what_two_faults_have_in_common_are_neither_names_nor_sizes():
    one = SyncFault("bytes", {"who": "f", "barrier": "full[1]", "copied": 8, "expected": 4, "hangs": False})
    two = SyncFault("bytes", {"who": "g", "barrier": "b[1]", "copied": 99, "expected": 98, "hangs": False})
    other = SyncFault("bytes", {"who": "g", "barrier": "b[0]", "copied": 99, "expected": 98, "hangs": False})
    assert traits(one) == traits(two) != traits(other)


@pytest.mark.parametrize("exercise", ["tma_copy", "tma_ring", "wgmma_matmul", "specialised_matmul"])
def test_times_are_predicted_for_gpus_that_have_these_instructions(exercise):
    report = flashlearn.check(exercise, KERNELS[exercise].launcher, demo=True)
    assert report.passed and set(report.timing.predictions) == {"H100"}


def test_a_faulty_formula_is_wrong_where_there_are_two_tiles_and_right_without_faults():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(70, 200, generator=generator)
    a, b = torch.randn(200, 130, generator=generator), torch.randn(130, 150, generator=generator)
    torch.testing.assert_close(formulas.product(a, b), a @ b)
    torch.testing.assert_close(formulas.product_by_steps(a, b), a @ b)
    torch.testing.assert_close(formulas.summed_by_tiles(x), x.sum(1))
    for fault in ("last step only", "last step missing", "same rows twice", "b exchanged", "b transposed"):
        assert not torch.allclose(formulas.product(a, b, frozenset({fault})), a @ b)
    for fault in ("last tile only", "last tile missing", "corner exchanged"):
        assert not torch.allclose(formulas.summed(x, frozenset({fault})), x.sum(1))


@pytest.mark.parametrize(
    "draw",
    [lambda: ring_pictures.under_way(8), lambda: ring_pictures.turns(3), ring_pictures.operands],
    ids=["under way", "turns", "operands"],
)
def test_pictures_say_what_they_show(draw):
    assert len(draw().description) > 60 and draw().png()


def test_three_slots_turn_after_three_tiles():
    assert "0 0 0 1 1 1 0 0 0 1 1 1" in ring_pictures.turns(3).description


@pytest.mark.parametrize("exercise", ["tma_copy", "tma_ring", "wgmma_matmul", "specialised_matmul"])
def test_an_h100_s_compiler_takes_the_kernels_as_they_are_launched_and_spills_nothing(exercise):
    given = find(exercise).inputs(find(exercise).cases[2], torch.Generator().manual_seed(0))
    with observing() as (session, _):
        KERNELS[exercise].launcher(*(x.bfloat16() for x in given.values()))
    (made_for,) = compiler.compile_launch(session.launches[-1], targets=(90,))
    assert not made_for.error and made_for.spill_bytes == 0 and made_for.tma
    assert (made_for.tensor_cores == "wgmma") == ("matmul" in exercise)


@pytest.mark.parametrize("exercise", ["tma_ring", "wgmma_matmul"])
def test_the_scaffold_leaves_the_name_slot_to_the_learner(exercise):
    ahead = "        ahead = i + STAGES"
    edits = ((ahead, f"        slot = i % STAGES\n{ahead}"),)
    launcher = variant(KERNELS[exercise].launcher, *KERNELS[exercise].kernels, edits=edits)
    given = find(exercise).inputs(find(exercise).cases[2], torch.Generator().manual_seed(0))
    with observing() as (session, _):
        launcher(*(x.bfloat16() for x in given.values()))
    (made_for,) = compiler.compile_launch(session.launches[-1], targets=(90,))
    assert not made_for.error, made_for.error
