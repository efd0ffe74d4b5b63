"""`tma_ring`: row sums from a ring of buffers."""

from __future__ import annotations

import torch

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels.gluon import tma_ring as tma_ring_kernels
from flashlearn.lessons.lesson_13_hopper import formulas
from flashlearn.lessons.lesson_13_hopper.by_hardware import by_hardware
from flashlearn.lessons.lesson_13_hopper.edited_kernels import EditedKernel
from flashlearn.lessons.lesson_13_hopper.matrices import HOPPER, matrix, matrix_case
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.variants import Edits
from flashlearn.outcome import Status

FP16, BF16 = torch.float16, torch.bfloat16

FULL = "mbarrier.wait(full.index(i % STAGES), i // STAGES % 2)"
EXPECT = "mbarrier.expect(full.index({}), {}"
BYTES, ELEMENTS = "x_desc.block_type.nbytes", "rows * columns"

EDITS: dict[str, Edits] = {
    "no wait": ((FULL, "pass"),),
    "phase never turns": ((FULL, "mbarrier.wait(full.index(i % STAGES), 0)"),),
    "phase of the tile": ((FULL, "mbarrier.wait(full.index(i % STAGES), i % 2)"),),
    "other phase": ((FULL, "mbarrier.wait(full.index(i % STAGES), (i // STAGES + 1) % 2)"),),
    "slot by division": (("x = ring.index(i % STAGES)", "x = ring.index(i // STAGES % STAGES)"),),
    "exchanged in wait": ((FULL, "mbarrier.wait(full.index(i // STAGES % STAGES), i % STAGES % 2)"),),
    "elements for bytes": (
        (EXPECT.format("early", BYTES), EXPECT.format("early", ELEMENTS)),
        (EXPECT.format("free", BYTES), EXPECT.format("free", ELEMENTS)),
    ),
    "prologue one too many": (("gl.static_range(STAGES - 1):", "gl.static_range(STAGES):"),),
    "prologue one too few": (("gl.static_range(STAGES - 1):", "gl.static_range(STAGES - 2):"),),
    "one tile too far": (
        ("gl.static_range(STAGES - 1):", "gl.static_range(STAGES):"),
        ("ahead = i + STAGES - 1", "ahead = i + STAGES"),
    ),
    "refilled before read": (
        ("gl.static_range(STAGES - 1):", "gl.static_range(STAGES):"),
        ("ahead = i + STAGES - 1", "ahead = i + STAGES"),
        ("        free = ahead % STAGES\n", "        free = ahead % STAGES\n        " + FULL + "\n"),
        ("        " + FULL + "\n        x = ", "        x = "),
    ),
    "beyond the end": (
        (", pred=ahead < tiles)\n        tma", ")\n        tma"),
        ("ring.index(free), pred=ahead < tiles\n", "ring.index(free)\n"),
    ),
    "no mask": (("gl.store(y_ptr + out, total, mask=out < M)", "gl.store(y_ptr + out, total)"),),
}
"""What is replaced by what, by fault."""

kernel = EditedKernel(tma_ring_kernels.tma_ring, tma_ring_kernels.tma_ring_kernel, edits=EDITS)
formula = faulty_formula(formulas.summed)

MISTAKES = {
    "the tile is not waited for": kernel.mistake(
        "no wait",
        "Only the barrier of a slot knows when its tile is there.",
        "Before the load comes a wait for the phase that this tile completes on its slot's barrier.",
    ),
    "the phase never turns": kernel.mistake(
        "phase never turns",
        "In the second turn of the ring the wait is for a phase that was over long ago, as if the same "
        "parity were asked for in every turn.",
        "How often has this slot been full before tile i comes?",
    ),
    "the phase turns with every tile": kernel.mistake(
        "phase of the tile",
        "A slot's barrier advances by one phase per turn of the ring: all tiles of the first turn complete "
        "phase 0. A parity that changes from tile to tile asks for another phase.",
        "How many tiles had been in its slot before tile i?",
    ),
    "the phase is always the other one": kernel.mistake(
        "other phase",
        "In the first turn already, the parity asked for is that of the phase before, which is over.",
        "The first tile in a slot completes phase 0.",
    ),
    "the slot is i // STAGES": kernel.mistake(
        "slot by division",
        "The tile is read from slot i // STAGES, which holds another tile, or one that is still arriving.",
        "Tiles 0, 1, 2 … go to slots 0, 1, 2 … and then start again at slot 0.",
    ),
    "slot and phase exchanged": kernel.mistake(
        "exchanged in wait",
        "The barrier that is waited for is that of slot i // STAGES, and the parity is made of i % STAGES: "
        "the two are swapped.",
        "i % STAGES says where in the ring, and i // STAGES says how many times around.",
    ),
    "too few bytes are expected": kernel.mistake(
        "elements for bytes",
        "That happens if elements are counted as bytes, for example, or only one of two copies is counted.",
        "The descriptor knows how many bytes its block has, in every dtype.",
    ),
    "one tile too many before the loop": kernel.mistake(
        "prologue one too many",
        "The loop asks for a tile that was asked for before the loop: the first copies fill more slots than "
        "the loop leaves out.",
        "Which is the first tile that the loop asks for?",
    ),
    "one tile too few before the loop": kernel.mistake(
        "prologue one too few",
        "There is a tile that neither the first copies nor the loop ask for.",
        "Which is the first tile that the loop asks for?",
    ),
    "filled again while it arrives": kernel.mistake(
        "one tile too far",
        "The loop fills the slot of the very tile that it is going to read: with STAGES tiles on their way "
        "all slots are taken.",
        "In step i, which slot is no longer needed?",
    ),
    "filled again before it is read": kernel.mistake(
        "refilled before read",
        "The slot's next copy is asked for between the wait for its tile and the load.",
        "A slot is free for its next copy only once the load has run.",
    ),
    "tiles beyond the end": kernel.mistake(
        "beyond the end",
        "Copies are asked for that no step waits for, as for tiles beyond the last one.",
        "`pred=` says whether a copy is made, and whether its bytes are expected.",
    ),
    "the sums are stored without a mask": kernel.mistake(
        "no mask",
        "The last program has rows below the matrix, and stores their sums too.",
        "The descriptor masks what TMA moves. Ordinary stores need a mask of their own.",
        Status.OUT_OF_BOUNDS,
    ),
    "only the last tile": Mistake(
        "The result is the sum of one tile alone, the last of those that are read.",
        "A row's sum is over all of its tiles.",
        **formula("last tile only"),
    ),
    "the first tile is left out": Mistake(
        "The first tile is not in the sum.",
        "Which tile is the first one that is added?",
        **formula("first tile missing"),
    ),
    "the last tile is left out": Mistake(
        "Where the columns are no multiple of the tile, those after the last whole tile are missing.",
        "How many tiles does a row of N columns touch?",
        **formula("last tile missing"),
    ),
    "row and column exchanged": Mistake(
        "Every tile is that of the corner (column, row).",
        "A descriptor takes its coordinates in the order of the tensor's dimensions.",
        **formula("corner exchanged"),
    ),
}  # fmt: skip


def added_once(inputs: Inputs) -> Work:
    """An addition for every number, which is read once."""
    x = inputs["x"]
    return Work(float(x.numel()), float(x.numel() * x.element_size()))


tma_ring = Exercise(
    name="tma_ring",
    lesson="13",
    kind=Kind.KERNEL,
    title="Row sums from a ring of buffers",
    signature="(x) -> y",
    outputs=("y",),
    inputs=matrix,
    cases=(
        matrix_case(32, 64, seed=1),  # one tile: fewer than the ring has slots
        matrix_case(32, 192, seed=2),  # as many as slots
        matrix_case(50, 520, seed=3),  # nine tiles: three turns of the ring
        matrix_case(37, 250, seed=4),
        matrix_case(1, 1, seed=5),
        matrix_case(40, 330, layout="transposed", seed=6),
        matrix_case(33, 400, layout="strided", seed=7),
        matrix_case(40, 700, FP16, data="positive", seed=8),
        matrix_case(33, 450, BF16, seed=9),
        matrix_case(4096, 4096, BF16, seed=10, gpu=True),
        matrix_case(1000, 3001, seed=11, gpu=True),
    ),
    judged=HowJudged(
        needs=HOPPER,
        reference=formulas.summed,
        twins=(formulas.summed_by_tiles,),
        output_dtypes={"y": torch.float32},
        work=added_once,
        seen=by_hardware("tma load"),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=formulas.summed, peer_name="torch_sum", case=matrix_case(8192, 8192, BF16, seed=12, gpu=True)
    ),
    points=3,
    solution="flashlearn.kernels.gluon.tma_ring:tma_ring",
)
