"""A check does not pay for objects that others made before it."""

from __future__ import annotations

import gc
import weakref

import pytest

from flashlearn.machine.garbage_collection import ignore_existing_objects


class Circle:
    def __init__(self):
        self.me = self


def test_what_was_there_is_set_aside_and_comes_back_even_after_an_error():
    with pytest.raises(KeyError), ignore_existing_objects():
        assert gc.get_freeze_count() > 1000
        raise KeyError
    assert gc.get_freeze_count() == 0


def test_a_circle_that_is_made_meanwhile_is_collected():
    with ignore_existing_objects():
        gone = weakref.ref(Circle())
        gc.collect()
        assert gone() is None


def test_who_has_frozen_or_stopped_the_collector_is_left_alone():
    gc.freeze()
    try:
        with ignore_existing_objects():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
    gc.disable()
    try:
        with ignore_existing_objects():
            assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
