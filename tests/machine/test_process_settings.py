"""What a check sets for its process: it holds inside the block, and is as it was after it."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from flashlearn.machine.process_settings import REDUCED, full_precision, ignore_existing_objects


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


def test_products_are_exact_inside_the_block_and_as_they_were_after_it():
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_tf32
    try:
        matmul.allow_tf32 = True
        with full_precision():
            assert not matmul.allow_tf32
            assert not any(getattr(matmul, name) for name in REDUCED)
        assert matmul.allow_tf32 and all(getattr(matmul, name) for name in REDUCED)
    finally:
        matmul.allow_tf32 = before
