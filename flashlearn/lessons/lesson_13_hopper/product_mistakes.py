"""The named mistakes of lesson 13's products: operands and sums in use, and who gives a slot back."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_13_hopper import formulas
from flashlearn.lessons.lesson_13_hopper.mistakes import at_work
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula

of_products = faulty_formula(formulas.product)
_wgmma, _special = at_work("wgmma_matmul"), at_work("specialised_matmul")

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
    "one step is never fetched": _wgmma(
        "one step further ahead",
        "There is a step that neither the first copies, before the loop, nor the loop itself ask for.",
        "How many steps are on their way before the loop? Which one is the loop's first to ask for, then?",
    ),
    "one step is fetched twice": _wgmma(
        "one step less ahead",
        "The loop asks for a step that was asked for before the loop.",
        "How many steps are on their way before the loop? Which one is the loop's first to ask for, then?",
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
