"""Edits of the taught forward pass that make faults of it: most are faults of synchronisation."""

from __future__ import annotations

from flashlearn.lessons.lesson_13_hopper import simple_fa3 as forward
from flashlearn.lessons.lesson_13_hopper.edited_kernels import EditedKernel
from flashlearn.lessons.shared.variants import Edits

K_FULL = "        mbarrier.wait(k_full.index(slot), i // STAGES % 2)\n"
V_FULL = "        mbarrier.wait(v_full.index(before), (i - 1) // STAGES % 2)\n"
K_DONE = "        mbarrier.arrive(k_empty.index(slot), count=1)\n"
V_DONE = "        mbarrier.arrive(v_empty.index(before), count=1)\n"
S_WAIT = "        s = warpgroup_mma_wait(1, deps=[s])  # S is here; O += P V goes on under the softmax\n"
PV = "        acc = warpgroup_mma(p, v, acc, is_async=True)\n"
ACC_WAIT = "        acc = warpgroup_mma_wait(0, deps=[acc])\n        mbarrier"
RESCALED = "        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, output))[:, None]\n"
P32 = "        p = gl.convert_layout(p32.to(o_desc.dtype), operand_a(output))\n"
LAST_PV = "    acc = warpgroup_mma(p, v_ring.index(last).reshape([BLOCK_K, D]), acc, is_async=True)\n"

EDITS: dict[str, Edits] = {
    "Q not waited for": (("    mbarrier.wait(q_full.index(0), 0)\n", ""),),
    "K not waited for": ((K_FULL, ""),),
    "V not waited for": ((V_FULL, ""),),
    "K's phase never turns": ((K_FULL, "        mbarrier.wait(k_full.index(slot), 0)\n"),),
    "V's phase never turns": ((V_FULL, "        mbarrier.wait(v_full.index(before), 0)\n"),),
    "V with K's phase": ((V_FULL, V_FULL.replace("(i - 1) // STAGES", "i // STAGES")),),
    "V with K's slot": ((V_FULL, V_FULL.replace("before", "slot").replace("(i - 1)", "i")),),
    "producer's phase never turns": (
        ("mbarrier.wait(k_empty.index(slot), phase ^ 1)", "mbarrier.wait(k_empty.index(slot), 1)"),
    ),
    "producer does not wait for V": (("        mbarrier.wait(v_empty.index(slot), phase ^ 1)\n", ""),),
    "waits for the first emptying": (
        ("mbarrier.wait(k_empty.index(slot), phase ^ 1)", "mbarrier.wait(k_empty.index(slot), phase)"),
    ),
    "bytes of one tile of Q": (("2 * q_desc.block_type.nbytes", "q_desc.block_type.nbytes"),),
    "K's empty counts 1": (("k_empty.index(slot), count=2", "k_empty.index(slot), count=1"),),
    "K given back early": ((K_DONE, ""), (S_WAIT, K_DONE + S_WAIT)),
    "V given back early": ((V_DONE, ""), (S_WAIT, S_WAIT + V_DONE)),
    "K never given back": ((K_DONE, ""),),
    "V never given back": ((V_DONE, ""),),
    "S used early": ((S_WAIT, S_WAIT.replace("wait(1", "wait(2")),),
    "acc used early": ((ACC_WAIT, "        mbarrier"),),
    "last product used early": (("    acc = warpgroup_mma_wait(0, deps=[acc])\n    l_i", "    l_i"),),
    "P in the accumulator's layout": ((P32, "        p = p32.to(o_desc.dtype)\n"),),
    "the first one's queries": (("first_row + c * ROWS, 0]", "first_row, 0]"),),
    "last P V missing": ((LAST_PV, ""),),
    "blocks of the first consumer": (("first_row + 2 * ROWS + S_k", "first_row + ROWS + S_k"),),
    "rescaled before": (
        (PV, ""), (ACC_WAIT, RESCALED + PV + ACC_WAIT), ("        mbarrier.arrive(v_empty.index(before), "
         "count=1)\n" + RESCALED, V_DONE), (S_WAIT, S_WAIT.replace("wait(1", "wait(0")),
    ),
    "consumer 1 masks as consumer 0": (
        ("rows = first_row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, scores))",
         "rows = first_row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, scores))\n"
         "    seen_rows = rows - CONSUMER * ROWS"),
        ("last_seen = rows + S_k - S_q", "last_seen = seen_rows + S_k - S_q"),
    ),
}  # fmt: skip

kernel = EditedKernel(
    forward.fa3_forward,
    forward.tile_of,
    forward.bring_q_and_keys,
    forward.softmax_step,
    forward.attend,
    forward.fa3_forward_kernel,
    edits=EDITS,
)
