"""The Gluon kernels of lesson 13 with a fault that no formula in torch can make: most are faults of time."""

from __future__ import annotations

import functools
from collections.abc import Callable

from flashlearn.kernels.gluon import specialised_matmul as special
from flashlearn.kernels.gluon import tma_copy as copy
from flashlearn.kernels.gluon import tma_ring as ring
from flashlearn.kernels.gluon import wgmma_matmul as wgmma
from flashlearn.lessons.shared.variants import variant

Edits = tuple[tuple[str, str], ...]

KERNELS = {
    "tma_copy": (copy.tma_copy, copy.tma_copy_kernel),
    "tma_ring": (ring.tma_ring, ring.tma_ring_kernel),
    "wgmma_matmul": (wgmma.wgmma_matmul, wgmma.fetch, wgmma.wgmma_matmul_kernel),
    "specialised_matmul": (
        special.specialised_matmul,
        special.produce,
        special.consume,
        special.specialised_matmul_kernel,
    ),
}
"""Each launcher with the kernels of its file."""

FULL = "mbarrier.wait(full.index(i % STAGES), i // STAGES % 2)"
FULL_AT = "mbarrier.wait(full.index(at), i // STAGES % 2)"
EMPTY_AT = "mbarrier.wait(empty.index(at), phase ^ 1)"
ONE_LEFT = "        acc = warpgroup_mma_wait(1, deps=[acc])  # all but the newest are done\n"
EXPECT = "mbarrier.expect(full.index({}), {}"
BYTES, ELEMENTS = "x_desc.block_type.nbytes", "rows * columns"
FENCE = "    fence_async_shared()  # the copy engine sees what ordinary stores wrote\n"
LAST = "    acc = warpgroup_mma_wait(0, deps=[acc])\n"

COPY: dict[str, Edits] = {
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

RING: dict[str, Edits] = {
    "no wait": ((FULL, "pass"),),
    "phase never turns": ((FULL, "mbarrier.wait(full.index(i % STAGES), 0)"),),
    "phase of the tile": ((FULL, "mbarrier.wait(full.index(i % STAGES), i % 2)"),),
    "other phase": ((FULL, "mbarrier.wait(full.index(i % STAGES), (i // STAGES + 1) % 2)"),),
    "slot by division": (("x = ring.index(i % STAGES)", "x = ring.index(i // STAGES % STAGES)"),),
    "exchanged in wait": ((FULL, "mbarrier.wait(full.index(i // STAGES % STAGES), i % STAGES % 2)"),),
    "elements for bytes": (
        (EXPECT.format("i", BYTES), EXPECT.format("i", ELEMENTS)),
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

WGMMA: dict[str, Edits] = {
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

ARRIVE = "mbarrier.arrive(empty.index((i + STAGES - 1) % STAGES), count=1, pred=i > 0)"
SPECIALISED: dict[str, Edits] = {
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

FAULTS = {"tma_copy": COPY, "tma_ring": RING, "wgmma_matmul": WGMMA, "specialised_matmul": SPECIALISED}


@functools.cache
def faulty(launcher: str, fault: str) -> Callable:
    """The launcher with one fault of FAULTS."""
    function, *kernels = KERNELS[launcher]
    return variant(function, *kernels, edits=FAULTS[launcher][fault])
