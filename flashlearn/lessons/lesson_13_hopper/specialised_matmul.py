"""`specialised_matmul`: a warp that only loads, and two warpgroups that only multiply."""

from __future__ import annotations

import torch

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Kind, Mistake
from flashlearn.kernels.gluon import specialised_matmul as special
from flashlearn.lessons.lesson_13_hopper import formulas
from flashlearn.lessons.lesson_13_hopper.by_hardware import by_hardware
from flashlearn.lessons.lesson_13_hopper.edited_kernels import EditedKernel
from flashlearn.lessons.lesson_13_hopper.matrices import HOPPER, matrices
from flashlearn.lessons.lesson_13_hopper.products import FENCE, FULL_AT, PRODUCTS, TIMED, multiplied
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.variants import Edits

EMPTY_AT = "mbarrier.wait(empty.index(at), phase ^ 1)"
LAST = "    acc = warpgroup_mma_wait(0, deps=[acc])\n"
ARRIVE = "mbarrier.arrive(empty.index((i + STAGES - 1) % STAGES), count=1, pred=i > 0)"

EDITS: dict[str, Edits] = {
    "never given back": ((ARRIVE, "pass"),),
    "empty counts 1": (("empty.index(slot), count=2", "empty.index(slot), count=1"),),
    "full counts 2": (("full.index(slot), count=1", "full.index(slot), count=2"),),
    "waits for the first emptying": (("phase ^ 1", "phase"),),
    "empty not waited for": ((EMPTY_AT, "pass"),),
    "given back too early": ((ARRIVE, "mbarrier.arrive(empty.index(at), count=1)"),),
    "given back before the first": ((", pred=i > 0", ""),),
    "half of a expected": (("2 * a_desc.block_type.nbytes", "a_desc.block_type.nbytes"),),
    "no wait for full": ((FULL_AT, "pass"),),
    "phase never turns": ((FULL_AT, "mbarrier.wait(full.index(at), 0)"),),
    "producer's phase never turns": ((EMPTY_AT, "mbarrier.wait(empty.index(at), 1)"),),
    "used too early": ((LAST, ""),),
    "no fence": ((FENCE, ""),),
    "no store wait": (("tma.store_wait(0)", "pass"),),
    "one tile of c": (("m = (gl.program_id(0) * 2 + CONSUMER) * HALF", "m = gl.program_id(0) * 2 * HALF"),),
    "same rows": (("a.index(at * 2 + CONSUMER)", "a.index(at * 2)"),),
}
"""What is replaced by what, by fault."""

kernel = EditedKernel(
    special.specialised_matmul,
    special.produce,
    special.consume,
    special.specialised_matmul_kernel,
    edits=EDITS,
)
formula = faulty_formula(formulas.product)

MISTAKES = {
    "slots are never given back": kernel.mistake(
        "never given back",
        "The producer waits for slots that no consumer reports as empty: it ends only where all steps fit "
        "into the ring.",
        "Each consumer reports a slot as empty once the product that reads it is over.",
    ),
    "the first emptying is waited for": kernel.mistake(
        "waits for the first emptying",
        "The producer waits for consumers to release what it has not filled yet, and they wait for it.",
        "The phase before the first counts as complete, and its parity is 1.",
    ),
    "one consumer is enough": kernel.mistake(
        "empty counts 1",
        "The barrier of emptied slots completes a phase as soon as the first of two consumers arrives: "
        "the other one may not have read the slot yet.",
        "How many consumers report that a slot is empty?",
    ),
    "full waits for a second arrival": kernel.mistake(
        "full counts 2",
        "Bytes are counted separately and are not an arrival, however many copies bring them.",
        "How many arrivals are there on the barrier of full slots in a phase?",
    ),
    "filled without being empty": kernel.mistake(
        "empty not waited for",
        "The producer does not really wait for an emptied slot: there is no wait for its barrier, or the "
        "parity lets the producer through in every turn of the ring.",
        "In turn n of the ring, which phase of the barrier of emptied slots must be over?",
    ),
    "given back while it is read": kernel.mistake(
        "given back too early",
        "While a product is still in flight, the slot of this step is not free yet.",
        "With one product still in flight, which slot has been read for sure?",
    ),
    "given back before the first": kernel.mistake(
        "given back before the first",
        "In its first step a consumer reports a slot as empty that has not been read yet: from then on it is "
        "one report ahead.",
        "In step 0 there is no product before this one.",
    ),
    "the bytes of fewer tiles": kernel.mistake(
        "half of a expected",
        "All bytes that the copies of a step bring to a barrier belong to one phase.",
        "Add up the bytes that come in one step, for both consumers.",
    ),
    "the tiles are not waited for": kernel.mistake(
        "no wait for full",
        "A consumer multiplies whatever lies in the slot.",
        "What tells a consumer that a slot is full?",
    ),
    "the phase never turns": kernel.mistake(
        "phase never turns",
        "The consumers ask for the same parity in every turn of the ring.",
        "How often has this slot been full before step i?",
    ),
    "the sum is used too early": kernel.mistake(
        "used too early",
        "The sum is used before a wait has made sure that no product is under way, or what is used is not "
        "the result of that wait.",
        "The sum is what a wait returns that leaves no product under way.",
    ),
    "stored without a fence": kernel.mistake(
        "no fence",
        "TMA and WGMMA access shared memory through the async proxy, ordinary stores through the "
        "generic one.",
        "What has to come between the store to the tile and the copy out?",
    ),
    "the copy out is not waited for": kernel.mistake(
        "no store wait",
        "A copy out has no barrier: it belongs to a group, and groups are waited for by number.",
        "Which call waits until at most a given number of groups is left?",
    ),
    "both consumers take the same rows": Mistake(
        "The second half of every block of rows repeats the first: both consumers compute the same "
        "product.",
        "The second consumer's rows of a begin where the first one's end.",
        **formula("same rows twice"),
    ),
    "both consumers store to the same rows": kernel.mistake(
        "one tile of c",
        "Both consumers send their result to the same rows of c: one of them is lost, and other rows are "
        "never written.",
        "The second consumer's rows of c begin where the first one's end.",
    ),
    "only the last step": Mistake(
        "The result is the product of the last step alone, as if each step replaced the sum.",
        "c is the sum of the products of all steps.",
        **formula("last step only"),
    ),
    "b's coordinates exchanged": Mistake(
        "The tiles of b are those of the corner (column, k).",
        "A descriptor takes its coordinates in the order of the tensor's dimensions: b is [K, N].",
        **formula("b exchanged"),
    ),
}  # fmt: skip


specialised_matmul = Exercise(
    name="specialised_matmul",
    lesson="13",
    kind=Kind.KERNEL,
    title="A warp that only loads, and two warpgroups that only multiply",
    signature="(a, b) -> c",
    outputs=("c",),
    inputs=matrices,
    cases=PRODUCTS,
    judged=HowJudged(
        needs=HOPPER,
        reference=formulas.product,
        twins=(formulas.product_by_steps,),
        work=multiplied,
        seen=by_hardware("tma load", "wgmma", "fork"),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(peer=torch.matmul, peer_name="torch_matmul", case=TIMED),
    points=3,
    solution="flashlearn.kernels.gluon.specialised_matmul:specialised_matmul",
)
