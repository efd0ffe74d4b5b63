"""`program_ids`: each program writes its number."""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake, Work
from flashlearn.kernels import tour
from flashlearn.lessons.lesson_00_tour.tour_cases import draw, elements
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status


def ids(x: Tensor, block: int) -> Tensor:
    """ids [n] in int32: element i belongs to program i // block."""
    return (_elements(x) // block).to(torch.int32)


def _elements(x: Tensor) -> Tensor:
    return torch.arange(x.numel(), device=x.device, dtype=torch.int32)


def _programs(x: Tensor, block: int) -> int:
    return triton.cdiv(x.numel(), block)


def _again_after(programs: int) -> Callable[[Tensor, int], Tensor]:
    """The blocks' numbers as so few programs write them that take the blocks in turn."""
    return lambda x, block: ids(x, block) % programs


def _with(old: str, new: str) -> Variant:
    return variant(tour.program_ids, tour.program_ids_kernel, edits=((old, new),))


MISTAKES = {
    "no mask": Mistake(
        sentence="The last program writes past the end of ids: its block is longer than what is left.",
        next_step="A mask lets through the lanes whose element exists: element i does if i < n.",
        launcher=_with(", mask=offsets < n", ""),
        status=Status.OUT_OF_BOUNDS,
    ),
    "same block for all": Mistake(
        sentence=(
            "Several programs write the same slots: their blocks overlap. Program p owns "
            "the block that begins at p · block, and no other."
        ),
        next_step="Which number in the address differs from program to program?",
        launcher=_with("pid * BLOCK + tl.arange", "tl.arange"),
        status=Status.RACE,
    ),
    "tail without a program": Mistake(
        sentence="The ragged tail was never written, as if there were only n // block blocks, rounded down.",
        next_step="Which program writes element n − 1, the last one?",
        launcher=_with("triton.cdiv(n, block)", "max(n // block, 1)"),
    ),
    "element numbers": Mistake(
        sentence=(
            "Each slot holds its own number i; it should hold the number of the program that owns "
            "it, i // block."
        ),
        next_step="The offsets make the addresses; what is stored there is the program's number.",
        wrong=lambda x, block: _elements(x),
    ),
    "first elements' numbers": Mistake(
        sentence=(
            "Each slot holds the number of its block's first element, p · block; it should hold the number p "
            "of the program."
        ),
        next_step="The number of the program times the block is where its elements begin. What is stored "
        "there is the program's number.",
        wrong=lambda x, block: ids(x, block) * block,
    ),
    "lane numbers": Mistake(
        sentence=(
            "Each slot holds its place within the block, i % block; it should hold the program's "
            "number, i // block."
        ),
        next_step="tl.arange is the same in every program: which call tells programs apart?",
        wrong=lambda x, block: _elements(x) % block,
    ),
    "dealt out in turn": Mistake(
        sentence=(
            "The elements are dealt out in turn, like cards: slot i belongs to program i mod the number of "
            "programs. In this exercise each program owns a block of neighbours."
        ),
        next_step="Program p's first element has the number p times the block, and the next ones follow it.",
        wrong=lambda x, block: _elements(x) % max(1, _programs(x, block)),
    ),
    "divided by the number of programs": Mistake(
        sentence=(
            "Slot i holds i divided by the number of programs, rounded down. It should hold the number of "
            "the program that owns it, i // block."
        ),
        next_step="How many neighbouring elements does one program own? That is what i is divided by.",
        wrong=lambda x, block: _elements(x) // max(1, _programs(x, block)),
    ),
    "numbers that start again": Mistake(
        sentence=(
            "The numbers start again at 0 after a few blocks. A program that walks over several blocks, and "
            "stores its own number in all of them, makes such numbers."
        ),
        next_step="Slot i should hold i // block: the number of the block that is written, whichever program "
        "writes it.",
        wrong=_again_after(2),
        also=tuple(map(_again_after, (3, 4, 5, 6, 7, 8, 16, 32, 64))),
    ),
    "counted from one": Mistake(
        sentence="Every number is one too large: programs are counted from 0.",
        next_step="Element 0 belongs to program 0.",
        wrong=lambda x, block: ids(x, block) + 1,
    ),
    "lanes counted from one": Mistake(
        sentence=(
            "Every block is shifted by one: element 0 is never written, and the first element of each later "
            "block has the number of the program before."
        ),
        next_step="The first element of program p has the number p · block.",
        launcher=_with("tl.arange(0, BLOCK)", "tl.arange(1, 1 + BLOCK)"),
    ),
    "number of programs": Mistake(
        sentence="Every slot holds how many programs there are, not which one wrote it.",
        next_step="What belongs in a slot is its program's own place in the grid.",
        wrong=lambda x, block: torch.full_like(ids(x, block), _programs(x, block)),
    ),
}


def blocks(n: int, block: int, dtype: torch.dtype = torch.float32, name: str = "", **more: object) -> Case:
    """A vector of n elements in blocks of `block`; `name` replaces both in the case's name."""
    label = "" if name else f"{elements(n)} in blocks of {block}"
    tags = {"ragged": n % block != 0}
    return build_case(label, {"n": n, "block": block}, dtype, name, tags=tags, **more)


def block_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """x [n] and the length of a block; a strided x is every second element of [2n]."""
    n = case.sizes["n"]
    x = draw(case, generator, 2 * n)[::2] if case.layout == "strided" else draw(case, generator, n)
    return {"x": x, "block": case.sizes["block"]}


program_ids = Exercise(
    name="program_ids",
    lesson="00",
    kind=Kind.KERNEL,
    title="Each program writes its number",
    signature="(x, block: int) -> ids",
    outputs=("ids",),
    inputs=block_inputs,
    cases=(
        blocks(10, 4, seed=1),
        blocks(16, 16, seed=2),
        blocks(5, 16, seed=3),
        blocks(1, 1, seed=4),
        blocks(200, 64, torch.float16, seed=5),
        blocks(37, 8, name="x is every second element", layout="strided", seed=6),
        blocks(70, 1, seed=8),
        blocks(1_000_003, 1024, gpu=True, seed=7),
    ),
    judged=HowJudged(
        reference=ids,
        work=lambda inputs: Work(operations=0, bytes=4 * inputs["x"].numel()),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    solution="flashlearn.kernels.tour:program_ids",
)
