"""The formulas of lessons 01 to 05 with faults by name: right without one, wrong with each."""

from __future__ import annotations

import functools

import pytest
import torch

from flashlearn.judging.references import convert
from flashlearn.lessons import all_exercises
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas import forward, rows, sums

MADE = [
    (exercise, name, formula)
    for exercise in all_exercises().values()
    for name, mistake in exercise.explained.mistakes.items()
    for formula in (mistake.wrong, *mistake.also)
    if isinstance(formula, functools.partial) and formula.func.__module__.endswith(("rows", "sums"))
]


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize("tile", [(8, 8), (16, 16), (64, 64)])
def test_without_a_fault_the_formulas_are_right_at_any_tile(tile):
    x, y = numbers(21, 37), numbers(37, 19)
    p = reference.softmax(x)
    close = torch.testing.assert_close
    close(sums.column_sums(x, tile=tile), x.sum(0))
    close(sums.matmul(x, y, tile=tile), x @ y)
    close(sums.delta(x[None, None], 2 * x[None, None], tile=tile), (2 * x * x).sum(1)[None, None])
    close(rows.softmax(x, tile=tile), p)
    close(rows.softmax_vjp(p, x, tile=tile), reference.softmax_backward(p, x))
    close(rows.logsumexp(x, tile=tile), reference.logsumexp(x))


@pytest.mark.parametrize(("exercise", "name", "formula"), MADE, ids=[f"{e.name}: {n}" for e, n, _ in MADE])
def test_every_fault_makes_some_case_wrong(exercise, name, formula):
    for case in exercise.cases:
        if case.gpu:
            continue
        inputs = convert(exercise.inputs(case, case.generator()), torch.float32)
        got = formula(**inputs)
        right = exercise.reference(**inputs)
        pairs = zip(got, right, strict=True) if isinstance(got, tuple) else [(got, right)]
        if any(not torch.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in pairs):
            return
    pytest.fail(f"no case shows {name}")


def test_parts_of_a_loop():
    def part(fault: str, length: int = 37) -> tuple[int, int]:
        kept = sums.visited_range(length, 16, frozenset({fault}))
        return kept.start, kept.stop

    assert part("") == (0, 37)
    assert part("last tile only") == (32, 37)
    assert part("last tile left out") == part("ragged tile left out") == (0, 32)
    assert part("last tile left out", 32) == (0, 16) and part("ragged tile left out", 32) == (0, 32)
    assert part("first tile left out") == (16, 37)
    assert part("last line left out") == (0, 36)


def test_one_maximum_for_a_block_with_padded_queries_is_not_below_their_scores():
    q, k, v = (numbers(1, 1, n, 16).float() for n in (1, 5, 5))
    q, k = torch.full_like(q, 10.0), torch.full_like(k, -10.0)

    def lse(tile, *faults):
        return forward.scan(q, k, v, 1.0, faults=frozenset(faults), tile=tile)[1].item()

    right = lse((16, 16))
    assert right < -1000 and lse((16, 16), "one maximum for all rows") == right
    assert lse((16, 16), "one maximum for all rows", "padded queries") == -torch.inf
    assert lse((1, 16), "one maximum for all rows", "padded queries") == right
