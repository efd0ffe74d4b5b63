"""The named mistakes of lesson 13's first four exercises: waits, phases, bytes, and who gives a slot back.

Most of them are told by the observer first, with its lines; what stands here is said behind it.
"""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_13_hopper import formulas
from flashlearn.lessons.lesson_13_hopper.faulty_kernels import faulty
from flashlearn.lessons.shared.faulty_formulas.faults import ways

of_copy, of_sums, of_products = (ways(f) for f in (formulas.copied, formulas.summed, formulas.product))


def _at_work(launcher: str) -> Callable[..., Mistake]:
    """For mistakes that end a run: the launcher with a fault, and what is said of it."""

    def made(fault: str, sentence: str, next_step: str, status: str = "CRASHED") -> Mistake:
        return Mistake(sentence, next_step, launcher=faulty(launcher, fault), status=status)

    return made


_copy, _ring, _wgmma, _special = map(_at_work, ("tma_copy", "tma_ring", "wgmma_matmul", "specialised_matmul"))

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
        "So it is with one byte for each element, say, or with the bytes of one copy of two.",
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
        "So it is with one byte for each element, say, or with the bytes of one copy of two.",
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
        "OUT_OF_BOUNDS",
    ),
    "only the last tile": Mistake(
        "The result is the sum of the last tile alone.",
        "What happens to `total` in each step?",
        **of_sums("last tile only"),
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

_COORDINATES = "The coordinates stand in the order of the tensor's dimensions: b is [K, N]."

WGMMA = {
    "the bytes of one tile": _wgmma(
        "a's bytes alone",
        "All that the copies of a step bring to a barrier belongs to one phase.",
        "Add up what comes in one step.",
    ),
    "the tiles are not waited for": _wgmma(
        "no wait for full",
        "WGMMA reads shared memory when it begins, whatever is there.",
        "Before the product: the barrier of the slot, and the phase that this step completes.",
    ),
    "the phase never turns": _wgmma(
        "phase never turns",
        "The same parity is asked for in every turn of the ring.",
        "How often has this slot been full before step i?",
    ),
    "the phase turns with every step": _wgmma(
        "phase of the step",
        "The parity changes from step to step, and a slot's barrier gets on by one phase in a turn of the "
        "ring.",
        "Step i is the how many-th in its slot?",
    ),
    "a slot is filled while a product reads it": _wgmma(
        "slot still read",
        "The slot that is filled belongs to a product that nobody has waited for yet.",
        "With n products left under way, the slots of the last n steps are taken, and that of this step. How "
        "far ahead may a copy be?",
    ),
    "the sum is used too early": _wgmma(
        "used too early",
        "Before the sum is used no wait has left zero products under way, or its result is not what is used.",
        "What does `warpgroup_mma_wait` return, and how many products may be left when the sum is read?",
    ),
    "stored without a fence": _wgmma(
        "no fence",
        "TMA and WGMMA have a door of their own into shared memory, and ordinary stores go through another.",
        "What has to stand between `c.store` and the copy out?",
    ),
    "the copy out is not waited for": _wgmma(
        "no store wait",
        "A copy out has no barrier: it belongs to a group, and groups are waited for by number.",
        "Which call waits until no more than so many groups are left?",
    ),
    "steps beyond the end": _wgmma(
        "beyond the end",
        "Copies are asked for that no step waits for: in the last steps there is none later.",
        "`fetch` takes a `pred`: when is there a step `ahead`?",
    ),
    "only the last step": Mistake(
        "Each product begins a new sum: what is returned is that of the last step.",
        "`warpgroup_mma` adds to the accumulator that it is given, unless `use_acc=False`.",
        **of_products("last step only"),
    ),
    "the last step is left out": Mistake(
        "Where K is no multiple of the step, what lies behind the last whole step is missing.",
        "How many steps does K take? TMA fills the rest of the last one with zeros.",
        **of_products("last step missing"),
    ),
    "b's coordinates exchanged": Mistake(
        "The tiles of b are those of the corner (column, k).",
        _COORDINATES,
        **of_products("b exchanged"),
    ),
    "b's tiles are transposed": Mistake(
        "Every tile of b is taken for its transpose.",
        "Are the rows of the tile of b the steps of the sum? If not, `permute([1, 0])` exchanges the two "
        "sides.",
        **of_products("b transposed"),
    ),
    "a's coordinates exchanged": Mistake(
        "The tiles of a are those of the corner (k, row).",
        "The coordinates stand in the order of the tensor's dimensions: a is [M, K].",
        **of_products("a exchanged"),
    ),
}  # fmt: skip

SPECIALISED = {
    "slots are never given back": _special(
        "never given back",
        "The producer waits for slots that no consumer reports as empty: it comes to its end only where all "
        "steps fit into the ring.",
        "Who tells the producer that a slot has been read, and when?",
    ),
    "the first emptying is waited for": _special(
        "waits for the first emptying",
        "Before anything has been loaded the producer waits for consumers, and they wait for it.",
        "A phase before the first counts as over. Which parity has it?",
    ),
    "one consumer is enough": _special(
        "empty counts 1",
        "A phase of `empty` is over with the first of two consumers: the other one may not have read the "
        "slot.",
        "How many report that a slot is empty?",
    ),
    "full waits for a second arrival": _special(
        "full counts 2",
        "Bytes are counted apart, and are no arrival, however many copies bring them.",
        "Who arrives on `full`?",
    ),
    "filled without being empty": _special(
        "empty not waited for",
        "The producer does not really wait for `empty`: there is no wait for it, or its parity lets the "
        "producer through in every turn of the ring.",
        "In turn n of the ring, which phase of `empty` must be over?",
    ),
    "given back while it is read": _special(
        "given back too early",
        "With a product left under way, the slot of this step is not free yet.",
        "With one product left under way: which slot has been read for sure?",
    ),
    "given back before the first": _special(
        "given back before the first",
        "In its first step a consumer reports a slot as empty that nobody has read yet: from then on it is "
        "one report ahead.",
        "In step 0 there is no product before this one.",
    ),
    "the bytes of fewer tiles": _special(
        "half of a expected",
        "All that the copies of a step bring to a barrier belongs to one phase.",
        "Add up what comes in one step, for both consumers.",
    ),
    "the tiles are not waited for": _special(
        "no wait for full",
        "A consumer multiplies whatever lies in the slot.",
        "What tells a consumer that a slot is full?",
    ),
    "the phase never turns": _special(
        "phase never turns",
        "The consumers ask for the same parity in every turn of the ring.",
        "How often has this slot been full before step i?",
    ),
    "the sum is used too early": _special(
        "used too early",
        "Before the sum is used no wait has left zero products under way, or its result is not what is used.",
        "What does `warpgroup_mma_wait` return, and how many products may be left when the sum is read?",
    ),
    "stored without a fence": _special(
        "no fence",
        "TMA and WGMMA have a door of their own into shared memory, and ordinary stores go through another.",
        "What has to stand between the store to the tile and the copy out?",
    ),
    "the copy out is not waited for": _special(
        "no store wait",
        "A copy out has no barrier: it belongs to a group, and groups are waited for by number.",
        "Which call waits until no more than so many groups are left?",
    ),
    "both consumers take the same rows": Mistake(
        "The second half of every block of rows repeats the first: both consumers multiply the same tile of "
        "a.",
        "`a` holds two tiles for each slot. Which one is this consumer's?",
        **of_products("same rows twice"),
    ),
    "both consumers store to the same rows": _special(
        "one tile of c",
        "Both consumers send their result to the same rows of c: one of them is lost, and other rows are "
        "never written.",
        "Where do the rows of consumer 1 begin?",
        "WRONG",
    ),
    "only the last step": Mistake(
        "Each product begins a new sum: what is returned is that of the last step.",
        "`warpgroup_mma` adds to the accumulator that it is given, unless `use_acc=False`.",
        **of_products("last step only"),
    ),
    "b's coordinates exchanged": Mistake(
        "The tiles of b are those of the corner (column, k).",
        _COORDINATES,
        **of_products("b exchanged"),
    ),
}  # fmt: skip
