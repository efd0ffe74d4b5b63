"""Triton's random numbers in the interpreter: Philox bit for bit, by seed and position alone."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.interpreter.route import observing
from flashlearn.lessons.lesson_15_variants import philox


@triton.jit
def random_kernel(u_ptr, r_ptr, seed, first, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(u_ptr + i, tl.rand(seed, first + i), mask=i < n)
    tl.store(r_ptr + i, tl.randint(seed, first + i), mask=i < n)


def drawn(seed: int, first: int, n: int, BLOCK: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    u, r = torch.empty(n), torch.empty(n, dtype=torch.int32)
    with observing():
        random_kernel[(triton.cdiv(n, BLOCK),)](u, r, seed, first, n, BLOCK=BLOCK)
    return u, r


@pytest.mark.parametrize("seed", [0, 7, 2**31 + 5, 2**40 + 3])
@pytest.mark.parametrize("first", [0, 2**31 - 50, 2**33 + 5])
def test_a_kernel_s_random_numbers_are_those_of_the_formula(seed, first):
    u, r = drawn(seed, first, 100)
    position = first + torch.arange(100)
    assert torch.equal(u, philox.uniform(seed, position))
    assert torch.equal(r.long() & 0xFFFFFFFF, philox.words(seed, position)[0])


def test_they_do_not_depend_on_the_blocks_that_ask_for_them():
    assert torch.equal(drawn(3, 0, 200, BLOCK=16)[0], drawn(3, 0, 200, BLOCK=128)[0])


def test_the_formula_gives_the_first_known_answer_of_random123():
    words = [int(word) for word in philox.words(0, torch.zeros(1, dtype=torch.int64))]
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
