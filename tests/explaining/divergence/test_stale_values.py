"""A sum that is carried from one place to another is not called right."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flashlearn.explaining.divergence.operands import elsewhere
from flashlearn.quantity import Window

GOAL = SimpleNamespace(quantity=SimpleNamespace(axes=("q", "d")))


def at(q, k):
    place = {"q": slice(q, q + 32), "k": slice(k, k + 32), "d": slice(0, 16)}
    return SimpleNamespace(window=Window(0, place, {}, {}))


@pytest.mark.parametrize(
    "old, new, axis", [((0, 0), (32, 0), "q"), ((0, 0), (0, 32), ""), ((0, 0), (0, 0), "")]
)
def test_only_an_axis_of_the_result_makes_an_old_value_another_place_s(old, new, axis):
    assert elsewhere(at(*old), at(*new), GOAL) == axis


def test_a_value_of_which_no_place_is_known_is_no_other_place_s():
    assert elsewhere(SimpleNamespace(window=None), at(0, 0), GOAL) == ""
