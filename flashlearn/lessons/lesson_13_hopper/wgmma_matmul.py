"""`wgmma_matmul`: a product of tiles that TMA brings, by asynchronous WGMMA."""

from __future__ import annotations

import torch

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Kind, Mistake
from flashlearn.kernels.gluon import wgmma_matmul as wgmma
from flashlearn.lessons.lesson_13_hopper import formulas
from flashlearn.lessons.lesson_13_hopper.by_hardware import by_hardware
from flashlearn.lessons.lesson_13_hopper.edited_kernels import EditedKernel
from flashlearn.lessons.lesson_13_hopper.matrices import HOPPER, matrices
from flashlearn.lessons.lesson_13_hopper.other_tiles import not_only_for_squares
from flashlearn.lessons.lesson_13_hopper.products import FENCE, FULL_AT, PRODUCTS, TIMED, multiplied
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.variants import Edits

ONE_LEFT = "        acc = warpgroup_mma_wait(1, deps=[acc])  # all but the newest are done\n"

EDITS: dict[str, Edits] = {
    "a's bytes alone": ((" + b_desc.block_type.nbytes", ""),),
    "no wait for full": ((FULL_AT, "pass"),),
    "phase never turns": ((FULL_AT, "mbarrier.wait(full.index(at), 0)"),),
    "phase of the step": ((FULL_AT, "mbarrier.wait(full.index(at), i % 2)"),),
    "slot still read": (
        ("gl.static_range(STAGES - 2)", "gl.static_range(STAGES - 1)"),
        ("ahead = i + STAGES - 2", "ahead = i + STAGES - 1"),
    ),
    "no wait for products": ((ONE_LEFT, ""),),
    "two left under way": (("acc = warpgroup_mma_wait(1,", "acc = warpgroup_mma_wait(2,"),),
    "used too early": (("    acc = warpgroup_mma_wait(0, deps=[acc])\n    ### END", "    ### END"),),
    "no fence": ((FENCE, ""),),
    "no store wait": (("tma.store_wait(0)", "pass"),),
    "beyond the end": (("ahead < steps)\n", "True)\n"),),
    "one step further ahead": (("ahead = i + STAGES - 2", "ahead = i + STAGES - 1"),),
    "one step less ahead": (("ahead = i + STAGES - 2", "ahead = i + STAGES - 3"),),
}
"""What is replaced by what, by fault."""

kernel = EditedKernel(wgmma.wgmma_matmul, wgmma.fetch, wgmma.wgmma_matmul_kernel, edits=EDITS)
formula = faulty_formula(formulas.product)

MISTAKES = {
    "the bytes of one tile": kernel.mistake(
        "a's bytes alone",
        "All bytes that the copies of a step bring to a barrier belong to one phase.",
        "Add up the bytes that come in one step.",
    ),
    "the tiles are not waited for": kernel.mistake(
        "no wait for full",
        "WGMMA reads shared memory when it begins, whatever is there.",
        "Before the product comes a wait for the phase that this step completes on its slot's barrier.",
    ),
    "the phase never turns": kernel.mistake(
        "phase never turns",
        "The same parity is asked for in every turn of the ring.",
        "How often has this slot been full before step i?",
    ),
    "the phase turns with every step": kernel.mistake(
        "phase of the step",
        "The parity changes from step to step, but a slot's barrier advances by "
        "one phase per turn of the ring.",
        "How many steps had used its slot before step i?",
    ),
    "a slot is filled while a product reads it": kernel.mistake(
        "slot still read",
        "The slot that is filled belongs to a product that has not been waited for yet.",
        "While n products are still in flight, the slots of the last n steps are in use, and so is that of "
        "this step.",
    ),
    "one step is never fetched": kernel.mistake(
        "one step further ahead",
        "There is a step that neither the first copies, before the loop, nor the loop itself ask for.",
        "Which is the first step that the loop asks for?",
    ),
    "one step is fetched twice": kernel.mistake(
        "one step less ahead",
        "The loop asks for a step that was asked for before the loop.",
        "Which is the first step that the loop asks for?",
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
        "What has to come between an ordinary store to shared memory and the copy out?",
    ),
    "the copy out is not waited for": kernel.mistake(
        "no store wait",
        "A copy out has no barrier: it belongs to a group, and groups are waited for by number.",
        "Which call waits until at most a given number of groups is left?",
    ),
    "steps beyond the end": kernel.mistake(
        "beyond the end",
        "Copies are asked for that no step waits for, as for steps beyond the last one.",
        "`pred=` says whether a copy is made, and whether its bytes are expected.",
    ),
    "only the last step": Mistake(
        "The result is the product of the last step alone, as if each step replaced the sum.",
        "c is the sum of the products of all steps.",
        **formula("last step only"),
    ),
    "the last step is left out": Mistake(
        "Where K is not a multiple of the step, what follows the last whole step is missing.",
        "How many steps does K take, an incomplete one included?",
        **formula("last step missing"),
    ),
    "b's coordinates exchanged": Mistake(
        "The tiles of b are those of the corner (column, k).",
        "A descriptor takes its coordinates in the order of the tensor's dimensions: b is [K, N].",
        **formula("b exchanged"),
    ),
    "b's tiles are transposed": Mistake(
        "Every tile of b is used as its transpose.",
        "The sum runs over the rows of the tile of b.",
        **formula("b transposed"),
    ),
    "a's coordinates exchanged": Mistake(
        "The tiles of a are those of the corner (k, row).",
        "A descriptor takes its coordinates in the order of the tensor's dimensions: a is [M, K].",
        **formula("a exchanged"),
    ),
}  # fmt: skip


wgmma_matmul = Exercise(
    name="wgmma_matmul",
    lesson="13",
    kind=Kind.KERNEL,
    title="A product of tiles that TMA brings, by WGMMA that is not waited for at once",
    signature="(a, b) -> c",
    outputs=("c",),
    inputs=matrices,
    cases=PRODUCTS,
    judged=HowJudged(
        needs=HOPPER,
        reference=formulas.product,
        twins=(formulas.product_by_steps,),
        work=multiplied,
        seen=by_hardware("tma load", "wgmma"),
        review=not_only_for_squares("wgmma_matmul", ("a", "b"), (128, 64, 64)),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(peer=torch.matmul, peer_name="torch_matmul", case=TIMED),
    points=3,
    solution="flashlearn.kernels.gluon.wgmma_matmul:wgmma_matmul",
)
