"""`tma_copy`: a tile comes by TMA and leaves by TMA."""

from __future__ import annotations

import torch

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels.gluon import tma_copy as tma_copy_kernels
from flashlearn.lessons.lesson_13_hopper import formulas
from flashlearn.lessons.lesson_13_hopper.by_hardware import by_hardware
from flashlearn.lessons.lesson_13_hopper.edited_kernels import EditedKernel
from flashlearn.lessons.lesson_13_hopper.matrices import HOPPER, matrix, matrix_case
from flashlearn.lessons.lesson_13_hopper.other_tiles import not_only_for_squares
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.variants import Edits

FP16, BF16 = torch.float16, torch.bfloat16

EDITS: dict[str, Edits] = {
    "no wait": (("mbarrier.wait(arrived, phase=0)", "pass"),),
    "waits for phase 1": (("phase=0", "phase=1"),),
    "nothing expected": (
        ("mbarrier.expect(arrived, x_desc.block_type.nbytes)", "mbarrier.arrive(arrived, count=1)"),
    ),
    "elements for bytes": (("x_desc.block_type.nbytes", "rows * columns"),),
    "four bytes each": (("x_desc.block_type.nbytes", "4 * rows * columns"),),
    "no init": (("mbarrier.init(arrived, count=1)", "pass"),),
    "init counts 2": (("mbarrier.init(arrived, count=1)", "mbarrier.init(arrived, count=2)"),),
    "invalidated first": (
        ("mbarrier.wait(arrived, phase=0)", "mbarrier.invalidate(arrived)"),
        ("    mbarrier.invalidate(arrived)\n    tma", "    mbarrier.wait(arrived, phase=0)\n    tma"),
    ),
    "no store wait": (("tma.store_wait(0)", "pass"),),
}
"""What is replaced by what, by fault."""

kernel = EditedKernel(tma_copy_kernels.tma_copy, tma_copy_kernels.tma_copy_kernel, edits=EDITS)
formula = faulty_formula(formulas.copied)

MISTAKES = {
    "the tile is not waited for": kernel.mistake(
        "no wait",
        "The copy in and the copy out are asked for one after the other, but nothing makes the "
        "second wait for the first.",
        "The barrier of the copy in knows when its bytes are there.",
    ),
    "waits for a phase that is over": kernel.mistake(
        "waits for phase 1",
        "The phase that the copy completes is the first one of this barrier.",
        "How many phases of this barrier have been completed before the copy?",
    ),
    "the bytes are not expected": kernel.mistake(
        "nothing expected",
        "A phase that expects no bytes ends with its last arrival: the copy's bytes count for the next "
        "one.",
        "`mbarrier.expect` arrives as `mbarrier.arrive` does, and also says how many bytes to expect.",
    ),
    "elements counted for bytes": kernel.mistake(
        "elements for bytes",
        "That happens if elements are counted as bytes, for example, or only one of two copies is counted.",
        "The descriptor knows how many bytes its block has, in every dtype.",
    ),
    "four bytes for every dtype": kernel.mistake(
        "four bytes each",
        "The count is twice what comes for a dtype of two bytes.",
        "The descriptor knows how many bytes its block has, in every dtype.",
    ),
    "the barrier is not initialised": kernel.mistake(
        "no init",
        "Shared memory has arbitrary contents until `mbarrier.init` turns it into a barrier.",
        "`mbarrier.init` comes before all else that uses a barrier.",
    ),
    "one arrival too many is awaited": kernel.mistake(
        "init counts 2",
        "Bytes are counted separately and are not an arrival.",
        "How many arrivals are there on this barrier in a phase?",
    ),
    "invalidated before the wait": kernel.mistake(
        "invalidated first",
        "The barrier is invalidated while the copy still reports to it.",
        "Which line is the last to need the barrier?",
    ),
    "the copy out is not waited for": kernel.mistake(
        "no store wait",
        "A copy out has no barrier: it belongs to a group, and groups are waited for by number.",
        "Which call waits until at most a given number of groups is left?",
    ),
    "row and column exchanged": Mistake(
        "Every tile is that of the corner (column, row).",
        "A descriptor takes its coordinates in the order of the tensor's dimensions.",
        **formula("corner exchanged"),
    ),
}  # fmt: skip


def moved_twice(inputs: Inputs) -> Work:
    """No operation; every number is read once and written once."""
    return Work(0.0, 2.0 * inputs["x"].numel() * inputs["x"].element_size())


tma_copy = Exercise(
    name="tma_copy",
    lesson="13",
    kind=Kind.KERNEL,
    title="A tile comes by TMA and leaves by TMA",
    signature="(x) -> y",
    outputs=("y",),
    inputs=matrix,
    cases=(
        matrix_case(64, 64, seed=1),
        matrix_case(100, 72, seed=2),
        matrix_case(1, 1, seed=3),
        matrix_case(65, 130, seed=4),
        matrix_case(40, 200, layout="transposed", seed=5),
        matrix_case(130, 64, layout="strided", seed=6),
        matrix_case(70, 100, FP16, seed=7),
        matrix_case(130, 37, BF16, seed=8),
        matrix_case(64, 150, FP16, layout="every 2nd column", seed=9),
        matrix_case(4096, 4096, BF16, seed=10, gpu=True),
        matrix_case(1000, 3001, seed=11, gpu=True),
    ),
    judged=HowJudged(
        needs=HOPPER,
        reference=formulas.copied,
        accumulates=False,
        work=moved_twice,
        seen=by_hardware("tma load"),
        review=not_only_for_squares("tma_copy", ("x",), (64, 32)),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=torch.clone, peer_name="torch_clone", case=matrix_case(8192, 8192, BF16, seed=12, gpu=True)
    ),
    points=2,
    solution="flashlearn.kernels.gluon.tma_copy:tma_copy",
)
