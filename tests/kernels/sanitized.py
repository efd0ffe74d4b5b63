"""Every kernel of the package on small ragged problems, compiled: what a sanitizer watches.

    $ compute-sanitizer --tool memcheck python -m tests.kernels.sanitized
    $ compute-sanitizer --tool racecheck python -m tests.kernels.sanitized --part 0/4

Each kernel exercise's solution is called with the inputs of its own cases, a few of each dtype, and the
kernels of attention with random problems beside them. What is compared is left to `tests.kernels.sweep`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch

from flashlearn.exercise import Case, Exercise, Inputs, Kind
from flashlearn.judging.draws import on_device
from flashlearn.lessons import all_exercises
from flashlearn.machine import device
from flashlearn.running.answer import Here
from flashlearn.running.values import copies
from tests.kernels.sweep import draws, ratios

EACH = 3  # cases of one dtype
LONGEST = 200  # rows of a random problem


def solution(exercise: Exercise) -> Callable:
    """The function that the exercise declares as its solution."""
    module, _, name = exercise.solution.partition(":")
    return getattr(importlib.import_module(module), name)


def chosen(exercise: Exercise) -> Iterator[Case]:
    """The first cases of each dtype that are no large ones."""
    met: Counter[torch.dtype] = Counter()
    for case in exercise.cases:
        met[case.dtype] += not case.gpu
        if not case.gpu and met[case.dtype] <= EACH:
            yield case


def calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """What is run, by name: solutions on their cases, then attention on random problems."""
    for exercise in all_exercises().values():
        if exercise.kind is not Kind.KERNEL or not exercise.solution:
            continue
        call = Here(solution(exercise), exercise)._caller().call
        for case in chosen(exercise):
            given = exercise.inputs(case, case.generator())
            yield f"{exercise.name}, {case.name}", partial(_on_the_gpu, call, given)
    for draw in draws(8, seed=0, longest=LONGEST):
        small = replace(draw, B=1, D=min(draw.D, 64))
        yield f"attention, {small}", partial(ratios, small)


def _on_the_gpu(call: Callable[[Inputs], object], given: Inputs) -> object:
    return call(on_device(copies(given), "cuda"))


def main() -> int:
    """Run one part of the calls, and say how many there were."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", default="0/1", help="which part of how many: 2/8")
    number, count = map(int, parser.parse_args().part.split("/"))
    if not device.has_gpu():
        print("There is no GPU here: a sanitizer would have nothing to watch.")
        return 2
    mine = list(calls())[number::count]
    for name, call in mine:
        print(name, flush=True)
        call()
    torch.cuda.synchronize()
    print(f"{len(mine)} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
