"""The named mistakes of lesson 13's copies: waits, phases, bytes, and slots that are filled again.

Most of them are told by the observer first, with its lines; what stands here is said behind it.
"""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_13_hopper import formulas
from flashlearn.lessons.lesson_13_hopper.faulty_kernels import faulty
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.outcome import Status

of_copy, of_sums = faulty_formula(formulas.copied), faulty_formula(formulas.summed)


def at_work(launcher: str) -> Callable[..., Mistake]:
    """For mistakes that end a run: the launcher with a fault of its table, and what is said of it."""

    def made(fault: str, sentence: str, next_step: str, status: Status = Status.CRASHED) -> Mistake:
        return Mistake(sentence, next_step, launcher=faulty(launcher, fault), status=status)

    return made


_copy, _ring = at_work("tma_copy"), at_work("tma_ring")

COPY = {
    "the tile is not waited for": _copy(
        "no wait",
        "The copy in and the copy out are asked for one after the other, and nothing makes the second one "
        "wait for the first.",
        "Which object knows when the bytes are there, and which call asks it?",
    ),
    "waits for a phase that is over": _copy(
        "waits for phase 1",
        "The phase that the copy completes is the first one of this barrier.",
        "How many phases of this barrier have been completed before the copy?",
    ),
    "the bytes are not expected": _copy(
        "nothing expected",
        "A phase that is told of no bytes is over with its last arrival: the copy's bytes count for the next "
        "one.",
        "`mbarrier.expect` arrives as `mbarrier.arrive` does, and says how many bytes have to come as well.",
    ),
    "elements counted for bytes": _copy(
        "elements for bytes",
        "So it is if elements are counted as bytes, say, or if the bytes of one copy of two are.",
        "The descriptor knows how many bytes its block has, in every dtype.",
    ),
    "four bytes for every dtype": _copy(
        "four bytes each",
        "The count is right for fp32, and twice what comes for a dtype of two bytes.",
        "The descriptor knows how many bytes its block has, in every dtype.",
    ),
    "the barrier is not initialised": _copy(
        "no init",
        "Shared memory holds anything until `mbarrier.init` has made a barrier of it.",
        "How many arrivals end a phase here?",
    ),
    "one arrival too many is awaited": _copy(
        "init counts 2",
        "Bytes are counted apart, and are no arrival.",
        "Who arrives on this barrier, and how often in a phase?",
    ),
    "invalidated before the wait": _copy(
        "invalidated first",
        "The barrier is given up while the copy still reports to it.",
        "Which line is the last to need the barrier?",
    ),
    "the copy out is not waited for": _copy(
        "no store wait",
        "A copy out has no barrier: it belongs to a group, and groups are waited for by number.",
        "Which call waits until no more than so many groups are left?",
    ),
    "row and column exchanged": Mistake(
        "Every tile is that of the corner (column, row): right where both are equal.",
        "The coordinates stand in the order of the tensor's dimensions.",
        **of_copy("corner exchanged"),
    ),
}  # fmt: skip

RING = {
    "the tile is not waited for": _ring(
        "no wait",
        "Only the barrier of a slot knows when its tile is there.",
        "Before the load: the barrier of the slot, and the phase that this tile completes.",
    ),
    "the phase never turns": _ring(
        "phase never turns",
        "The same parity is asked for in every turn of the ring: in the second one the wait is for a phase "
        "that was over long ago.",
        "How often has this slot been full before tile i comes?",
    ),
    "the phase turns with every tile": _ring(
        "phase of the tile",
        "The parity changes from tile to tile. A slot's barrier gets on by one phase in a turn of the ring: "
        "all tiles of the first turn complete phase 0.",
        "Tile i is the how many-th in its slot: i % STAGES, or i // STAGES?",
    ),
    "the phase is always the other one": _ring(
        "other phase",
        "The parity is that of the phase before, which is over, in the first turn already.",
        "The first tile in a slot completes phase 0.",
    ),
    "the slot is i // STAGES": _ring(
        "slot by division",
        "The tile is read from slot i // STAGES: there lies another tile, or one on its way.",
        "Tiles 0, 1, 2 … go to slots 0, 1, 2 … and round again.",
    ),
    "slot and phase exchanged": _ring(
        "exchanged in wait",
        "The barrier that is waited for is that of slot i // STAGES, and the parity is made of i % STAGES: "
        "the two have changed places.",
        "Which of the two says where in the ring, and which says how many times around?",
    ),
    "too few bytes are expected": _ring(
        "elements for bytes",
        "So it is if elements are counted as bytes, say, or if the bytes of one copy of two are.",
        "The descriptor knows how many bytes its block has, in every dtype.",
    ),
    "one tile too many before the loop": _ring(
        "prologue one too many",
        "The loop asks for a tile that was asked for before it: the first copies fill more slots than the "
        "loop's `ahead` leaves out.",
        "Which is the first tile that the loop asks for? All before it, and no other, are asked for earlier.",
    ),
    "one tile too few before the loop": _ring(
        "prologue one too few",
        "There is a tile that neither the first copies nor the loop ask for.",
        "Which is the first tile that the loop asks for? All before it have to be on their way by then.",
    ),
    "filled again while it arrives": _ring(
        "one tile too far",
        "The loop fills the slot of the very tile that it is going to read: with STAGES tiles on their way "
        "all slots are taken.",
        "In step i, which slot has nobody any need of?",
    ),
    "filled again before it is read": _ring(
        "refilled before read",
        "The slot's next copy is asked for between the wait for its tile and the load.",
        "Once the load has run the values are in registers. Which line may stand behind it, and not before?",
    ),
    "tiles beyond the end": _ring(
        "beyond the end",
        "Copies are asked for that no step waits for: in the last steps there is no later tile.",
        "`pred=` says whether a copy is made, and whether its bytes are expected.",
    ),
    "the sums are stored without a mask": _ring(
        "no mask",
        "The last program has rows below the matrix, and stores their sums too.",
        "The descriptor masks what TMA moves. Ordinary stores have a mask of their own: `out < M`.",
        Status.OUT_OF_BOUNDS,
    ),
    "only the last tile": Mistake(
        "The result is the sum of the last tile alone.",
        "What happens to `total` in each step?",
        **of_sums("last tile only"),
    ),
    "the first tile is left out": Mistake(
        "The first tile is not in the sum.",
        "With which tile does the loop begin, and what does `total` hold before it?",
        **of_sums("first tile missing"),
    ),
    "the last tile is left out": Mistake(
        "Where the columns are no multiple of the tile, those behind the last whole tile are missing.",
        "How many tiles does a row of N columns touch?",
        **of_sums("last tile missing"),
    ),
    "row and column exchanged": Mistake(
        "Every tile is that of the corner (column, row).",
        "The coordinates stand in the order of the tensor's dimensions.",
        **of_sums("corner exchanged"),
    ),
}  # fmt: skip
