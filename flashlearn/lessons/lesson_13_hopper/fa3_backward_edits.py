"""Edits of the taught backward pass, each of which makes a fault that no formula in torch can make."""

from __future__ import annotations

from flashlearn.lessons.lesson_13_hopper import taught_backward as taught
from flashlearn.lessons.lesson_13_hopper.edited_kernels import EditedKernel
from flashlearn.lessons.shared.variants import Edits

ARRIVE = "        mbarrier.arrive(empty.index(at), count=1)\n"
WAIT = "        dv, dk, dq = warpgroup_mma_wait(0, deps=[dv, dk, dq])\n"
ADD = "async_add_shared_to_global(dq_desc, [row + i * QUERIES, 0], dq_tile)"
BOTH = "q_desc.block_type.nbytes + do_desc.block_type.nbytes"

EDITS: dict[str, Edits] = {
    "no wait for keys": (("    mbarrier.wait(kv_full, 0)\n", ""),),
    "no wait for queries": (("        mbarrier.wait(full.index(at), phase)\n", ""),),
    "phase never turns": (("mbarrier.wait(full.index(at), phase)", "mbarrier.wait(full.index(at), 0)"),),
    "q's bytes alone": ((BOTH, "q_desc.block_type.nbytes"),),
    "waits for the first emptying": (("phase ^ 1", "phase"),),
    "never given back": ((ARRIVE, ""),),
    "given back too early": ((WAIT + ARRIVE, ARRIVE + WAIT),),
    "empty counts 1": (("empty.index(slot), count=2", "empty.index(slot), count=1"),),
    "dS without a fence": (
        ("        fence_async_shared()  # the tensor core sees what ordinary stores wrote\n", ""),
    ),
    "dQ without a fence": (("        fence_async_shared()  # and it sees this one\n", ""),),
    "dQ's tile still read": (
        ("        tma.store_wait(0)  # the copy engine has read the block before\n", ""),
    ),
    "dP too early": (("        dp = warpgroup_mma_wait(0, deps=[dp])\n", ""),),
    "sums left under way": ((WAIT, "        dq = warpgroup_mma_wait(0, deps=[dq])\n"),),
    "stored, not added": (
        (ADD, "tma.async_copy_shared_to_global(dq_desc, [row + i * QUERIES, 0], dq_tile)"),
    ),
    "sum begins anywhere": (("dq_sum = torch.zeros(", "dq_sum = torch.empty("),),
}

kernel = EditedKernel(
    taught.fa3_backward, taught.send_queries, taught.own_keys, taught.fa3_backward_kernel, edits=EDITS
)
