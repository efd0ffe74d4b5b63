"""Answers to wgmma_matmul and specialised_matmul: right ones in several styles, and slips."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from tests.corpus import right, written
from tests.lessons.lesson_13_hopper.answers.copies import slip
from tests.lessons.lesson_13_hopper.answers.gluon_preamble import GLUON

LAUNCH = """

def NAME(a, b):
    a, b = padded(a), padded(b)
    (M, K), N = a.shape, b.shape[1]
    c = padded(torch.empty(M, N, dtype=a.dtype, device=a.device))
    KERNEL[(triton.cdiv(M, BM), triton.cdiv(N, BN))](describe(a, [BA, BK]), describe(b, [BK, BN]), describe(c, [BA, BN]), K, num_warps=4)
    return c
"""


def launch(name: str, kernel: str, bm: int, bn: int, bk: int, ba: int = 0) -> str:
    """The launcher for tiles of bm × bn, with steps of bk; descriptors of a have ba rows."""
    text = LAUNCH.replace("NAME", name).replace("KERNEL", kernel)
    for word, size in (("BM", bm), ("BN", bn), ("BK", bk), ("BA", ba or bm)):
        text = text.replace(word, str(size))
    return text


PATIENT = (
    GLUON
    + """
@gluon.jit
def patient(ad, bd, cd, K):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    m = gl.program_id(0) * 64
    n = gl.program_id(1) * 64
    at = gl.allocate_shared_memory(ad.dtype, [64, 64], ad.layout)
    bt = gl.allocate_shared_memory(bd.dtype, [64, 64], bd.layout)
    ct = gl.allocate_shared_memory(cd.dtype, [64, 64], cd.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, layout=layout)
    phase = 0
    for k in range(0, K, 64):
        mbarrier.expect(bar, ad.block_type.nbytes + bd.block_type.nbytes)
        tma.async_copy_global_to_shared(ad, [m, k], bar, at)
        tma.async_copy_global_to_shared(bd, [k, n], bar, bt)
        mbarrier.wait(bar, phase)
        acc = warpgroup_mma(at, bt, acc, use_acc=k > 0, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        phase ^= 1
    ct.store(acc.to(cd.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(cd, [m, n], ct)
    tma.store_wait(0)
"""
    + launch("wgmma_matmul", "patient", 64, 64, 64)
)
TWO_BARRIERS = (
    GLUON
    + """
@gluon.jit
def two_bars(ad, bd, cd, K):
    S: gl.constexpr = 3
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])
    m = gl.program_id(0) * 64
    n = gl.program_id(1) * 128
    steps = gl.cdiv(K, 32)
    at = gl.allocate_shared_memory(ad.dtype, [S, 64, 32], ad.layout)
    bt = gl.allocate_shared_memory(bd.dtype, [S, 32, 128], bd.layout)
    ct = gl.allocate_shared_memory(cd.dtype, [64, 128], cd.layout)
    abar = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    bbar = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(S):
        mbarrier.init(abar.index(s), count=1)
        mbarrier.init(bbar.index(s), count=1)
    for s in gl.static_range(S - 1):
        if s < steps:
            mbarrier.expect(abar.index(s), ad.block_type.nbytes)
            tma.async_copy_global_to_shared(ad, [m, s * 32], abar.index(s), at.index(s))
            mbarrier.expect(bbar.index(s), bd.block_type.nbytes)
            tma.async_copy_global_to_shared(bd, [s * 32, n], bbar.index(s), bt.index(s))
    acc = gl.zeros([64, 128], gl.float32, layout=layout)
    for i in range(steps):
        here = i % S
        mbarrier.wait(abar.index(here), i // S & 1)
        mbarrier.wait(bbar.index(here), i // S & 1)
        acc = warpgroup_mma(at.index(here), bt.index(here), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        later = i + S - 1
        if later < steps:
            mbarrier.expect(abar.index(later % S), ad.block_type.nbytes)
            tma.async_copy_global_to_shared(ad, [m, later * 32], abar.index(later % S), at.index(later % S))
            mbarrier.expect(bbar.index(later % S), bd.block_type.nbytes)
            tma.async_copy_global_to_shared(bd, [later * 32, n], bbar.index(later % S), bt.index(later % S))
    ct.store(acc.to(cd.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(cd, [m, n], ct)
    tma.store_wait(0)
"""
    + launch("wgmma_matmul", "two_bars", 64, 128, 32)
)
TRANSPOSED = (
    GLUON
    + """
@gluon.jit
def with_permute(ad, bd, c_ptr, M, N, K, stride):
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    m = gl.program_id(1) * 64
    n = gl.program_id(0) * 64
    steps = (K + 63) // 64
    at = gl.allocate_shared_memory(ad.dtype, [2, 64, 64], ad.layout)
    bt = gl.allocate_shared_memory(bd.dtype, [2, 64, 64], bd.layout)
    bar = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    mbarrier.init(bar.index(0), count=1)
    mbarrier.init(bar.index(1), count=1)
    both: gl.constexpr = ad.block_type.nbytes + bd.block_type.nbytes
    mbarrier.expect(bar.index(0), both)
    tma.async_copy_global_to_shared(ad, [m, 0], bar.index(0), at.index(0))
    tma.async_copy_global_to_shared(bd, [n, 0], bar.index(0), bt.index(0))
    acc = gl.zeros([64, 64], gl.float32, layout=mma)
    for i in range(steps):
        mbarrier.wait(bar.index(i & 1), i >> 1 & 1)
        token = warpgroup_mma(at.index(i & 1), bt.index(i & 1).permute((1, 0)), acc, is_async=True)
        more = i + 1 < steps
        mbarrier.expect(bar.index(1 - i & 1), both, pred=more)
        tma.async_copy_global_to_shared(ad, [m, 64 * (i + 1)], bar.index(1 - i & 1), at.index(1 - i & 1), pred=more)
        tma.async_copy_global_to_shared(bd, [n, 64 * (i + 1)], bar.index(1 - i & 1), bt.index(1 - i & 1), pred=more)
        acc = warpgroup_mma_wait(num_outstanding=0, deps=[token])
    i = m + gl.arange(0, 64, gl.SliceLayout(1, mma))
    j = n + gl.arange(0, 64, gl.SliceLayout(0, mma))
    gl.store(c_ptr + i[:, None] * stride + j[None, :], acc.to(ad.dtype), mask=(i < M)[:, None] & (j < N)[None, :])


def wgmma_matmul(a, b):
    a, bt = padded(a), padded(b.t())
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    with_permute[(triton.cdiv(N, 64), triton.cdiv(M, 64))](describe(a, [64, 64]), describe(bt, [64, 64]), c, M, N, K, c.stride(0), num_warps=4)
    return c
"""
)
FROM_REGISTERS = PATIENT.replace(
    "        acc = warpgroup_mma(at, bt, acc, use_acc=k > 0, is_async=True)\n        acc = warpgroup_mma_wait(0, deps=[acc])\n",
    "        left = at.load(gl.DotOperandLayout(0, layout, 2))\n        acc = warpgroup_mma(left, bt, acc)\n",
)
SUMS_OF_STEPS = PATIENT.replace(
    "        acc = warpgroup_mma(at, bt, acc, use_acc=k > 0, is_async=True)\n        acc = warpgroup_mma_wait(0, deps=[acc])\n",
    "        part = warpgroup_mma(at, bt, gl.zeros_like(acc), use_acc=False, is_async=True)\n        acc += warpgroup_mma_wait(0, deps=[part])\n",
)

for _style, _text in {
    "one slot, every product waited for, use_acc from the second step on": PATIENT,
    "a barrier for a and one for b, copies asked for behind the product": TWO_BARRIERS,
    "b as its transpose with permute, ordinary stores, columns first in the grid": TRANSPOSED,
    "a from registers, products not asynchronous": FROM_REGISTERS,
    "each step's product by itself, added in registers": SUMS_OF_STEPS,
}.items():
    right("wgmma_matmul", _style)(written(_text))

slip(
    "wgmma_matmul",
    PATIENT,
    "The barrier expects the bytes of a alone.",
    "bytes",
    "the bytes of one tile",
    edits=((" + bd.block_type.nbytes", ""),),
)
slip(
    "wgmma_matmul",
    PATIENT,
    "The phase never turns.",
    "phase is off",
    "the phase never turns",
    edits=(("        phase ^= 1\n", ""),),
)
slip(
    "wgmma_matmul",
    PATIENT,
    "The products are never waited for.",
    "wgmma not waited for",
    "product not waited for",
    "a slot is filled while a product reads it",
    "the sum is used too early",
    edits=(("        acc = warpgroup_mma_wait(0, deps=[acc])\n", ""),),
)
slip(
    "wgmma_matmul",
    PATIENT,
    "Each step begins a new sum.",
    "only the last step",
    "one edit",
    edits=(("use_acc=k > 0", "use_acc=False"),),
)
slip(
    "wgmma_matmul",
    PATIENT,
    "No fence.",
    "no fence",
    "stored without a fence",
    edits=(("    fence_async_shared()\n", ""),),
)
slip(
    "wgmma_matmul",
    PATIENT,
    "b's coordinates are exchanged.",
    "b's coordinates exchanged",
    "one edit",
    edits=(("bd, [k, n]", "bd, [n, k]"),),
)
slip(
    "wgmma_matmul",
    TWO_BARRIERS,
    "b is not waited for.",
    "copy not waited for",
    "the tiles are not waited for",
    edits=(("        mbarrier.wait(bbar.index(here), i // S & 1)\n", ""),),
)
slip(
    "wgmma_matmul",
    TWO_BARRIERS,
    "The phase turns with every step.",
    "phase is off",
    "the phase turns with every step",
    edits=(
        ("mbarrier.wait(abar.index(here), i // S & 1)", "mbarrier.wait(abar.index(here), i & 1)"),
        ("mbarrier.wait(bbar.index(here), i // S & 1)", "mbarrier.wait(bbar.index(here), i & 1)"),
    ),
)
slip(
    "wgmma_matmul",
    TWO_BARRIERS,
    "One product is left, and its slot filled.",
    "wgmma not waited for",
    "product not waited for",
    "the sum is used too early",
    edits=(("warpgroup_mma_wait(0,", "warpgroup_mma_wait(1,"),),
)
slip(
    "wgmma_matmul",
    TWO_BARRIERS,
    "The last step is left out.",
    "the last step is left out",
    "last tile missing",
    "copy never waited for",
    "one edit",
    edits=(("steps = gl.cdiv(K, 32)", "steps = K // 32"),),
)
slip(
    "wgmma_matmul",
    TRANSPOSED,
    "b is not permuted.",
    "transposed",
    "b's tiles are transposed",
    "one edit",
    edits=((".permute((1, 0))", ""),),
)
slip(
    "wgmma_matmul",
    TRANSPOSED,
    "What is used is not what the wait returned.",
    "product not waited for",
    "the sum is used too early",
    edits=(
        ("acc.to(ad.dtype)", "token.to(ad.dtype)"),
        (
            "    acc = gl.zeros([64, 64], gl.float32, layout=mma)\n",
            "    acc = gl.zeros([64, 64], gl.float32, layout=mma)\n    token = acc\n",
        ),
    ),
)
slip(
    "wgmma_matmul",
    TRANSPOSED,
    "Steps beyond the end are asked for.",
    "copy never waited for",
    "steps beyond the end",
    edits=(("more = i + 1 < steps", "more = i >= 0"),),
)
slip(
    "wgmma_matmul",
    SUMS_OF_STEPS,
    "The step's product is used before it is waited for.",
    "crashed",
    "product not waited for",
    "the sum is used too early",
    edits=(("acc += warpgroup_mma_wait(0, deps=[part])", "acc += part"),),
)

SPECIAL = (
    GLUON
    + """
@gluon.jit
def fetch(ad, bd, at, bt, full, empty, K, S: gl.constexpr):
    s = 0
    parity = 1
    for k in range(0, K, 64):
        mbarrier.wait(empty.index(s), parity)
        mbarrier.expect(full.index(s), ad.block_type.nbytes + bd.block_type.nbytes)
        tma.async_copy_global_to_shared(ad, [gl.program_id(0) * 64, k], full.index(s), at.index(s))
        tma.async_copy_global_to_shared(bd, [k, gl.program_id(1) * 128], full.index(s), bt.index(s))
        s += 1
        if s == S:
            s = 0
            parity ^= 1


@gluon.jit
def multiply(cd, at, bt, ct, full, empty, K, S: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])
    acc = gl.zeros([64, 128], gl.float32, layout=layout)
    s = 0
    parity = 0
    for k in range(0, K, 64):
        mbarrier.wait(full.index(s), parity)
        acc = warpgroup_mma(at.index(s), bt.index(s), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index(s), count=1)
        s += 1
        if s == S:
            s = 0
            parity ^= 1
    ct.store(acc.to(cd.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(cd, [gl.program_id(0) * 64, gl.program_id(1) * 128], ct)
    tma.store_wait(0)


@gluon.jit
def one_and_one(ad, bd, cd, K):
    S: gl.constexpr = 2
    at = gl.allocate_shared_memory(ad.dtype, [S, 64, 64], ad.layout)
    bt = gl.allocate_shared_memory(bd.dtype, [S, 64, 128], bd.layout)
    ct = gl.allocate_shared_memory(cd.dtype, [64, 128], cd.layout)
    full = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(S):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    gl.warp_specialize([(multiply, (cd, at, bt, ct, full, empty, K, S)), (fetch, (ad, bd, at, bt, full, empty, K, S))], [1], [24])
"""
    + launch("specialised_matmul", "one_and_one", 64, 128, 64)
)
PRODUCER_FIRST = SPECIAL.replace(
    "gl.warp_specialize([(multiply, (cd, at, bt, ct, full, empty, K, S)), (fetch, (ad, bd, at, bt, full, empty, K, S))], [1], [24])",
    "gl.warp_specialize([(fetch, (ad, bd, at, bt, full, empty, K, S)), (multiply, (cd, at, bt, ct, full, empty, K, S))], [4], [232])",
)
TOLD_EMPTY = SPECIAL.replace("    s = 0\n    parity = 1\n", "    s = 0\n    parity = 0\n").replace(
    "    s = 0\n    parity = 0\n    for k in range(0, K, 64):\n        mbarrier.wait(full",
    "    for t in gl.static_range(S):\n        mbarrier.arrive(empty.index(t), count=1)\n    s = 0\n    parity = 0\n    for k in range(0, K, 64):\n        mbarrier.wait(full",
)
TWO_PRODUCERS = (
    GLUON
    + """
@gluon.jit
def left(ad, at, full, empty, steps, S: gl.constexpr):
    for i in range(steps):
        mbarrier.wait(empty.index(i % S), (i // S + 1) % 2)
        mbarrier.expect(full.index(i % S), ad.block_type.nbytes)
        tma.async_copy_global_to_shared(ad, [gl.program_id(0) * 64, 64 * i], full.index(i % S), at.index(i % S))


@gluon.jit
def across(bd, bt, full, empty, steps, S: gl.constexpr):
    for i in range(steps):
        mbarrier.wait(empty.index(i % S), (i // S + 1) % 2)
        mbarrier.expect(full.index(i % S), bd.block_type.nbytes)
        tma.async_copy_global_to_shared(bd, [64 * i, gl.program_id(1) * 64], full.index(i % S), bt.index(i % S))


@gluon.jit
def product(cd, at, bt, full, empty, steps, S: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    acc = gl.zeros([64, 64], gl.float32, layout=layout)
    for i in range(steps):
        mbarrier.wait(full.index(i % S), i // S % 2)
        acc = warpgroup_mma(at.index(i % S), bt.index(i % S), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
        if i > 0:
            mbarrier.arrive(empty.index((i - 1) % S), count=1)
    acc = warpgroup_mma_wait(0, deps=[acc])
    ct = gl.allocate_shared_memory(cd.dtype, [64, 64], cd.layout)
    ct.store(acc.to(cd.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(cd, [gl.program_id(0) * 64, gl.program_id(1) * 64], ct)
    tma.store_wait(0)


@gluon.jit
def three(ad, bd, cd, K):
    S: gl.constexpr = 3
    steps = gl.cdiv(K, 64)
    at = gl.allocate_shared_memory(ad.dtype, [S, 64, 64], ad.layout)
    bt = gl.allocate_shared_memory(bd.dtype, [S, 64, 64], bd.layout)
    full = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(S):
        mbarrier.init(full.index(s), count=2)
        mbarrier.init(empty.index(s), count=1)
    gl.warp_specialize(
        [
            (product, (cd, at, bt, full, empty, steps, S)),
            (left, (ad, at, full, empty, steps, S)),
            (across, (bd, bt, full, empty, steps, S)),
        ],
        [1, 1],
        [24, 24],
    )
"""
    + launch("specialised_matmul", "three", 64, 64, 64)
)
ONE_HALF_EACH = (
    GLUON
    + """
@gluon.jit
def mover(ad, bd, at, bt, full, empty, steps):
    for i in range(steps):
        mbarrier.wait(empty.index(i & 1), (i >> 1 & 1) ^ 1)
        mbarrier.expect(full.index(i & 1), ad.block_type.nbytes + bd.block_type.nbytes)
        tma.async_copy_global_to_shared(ad, [128 * gl.program_id(0), 32 * i], full.index(i & 1), at.index(i & 1))
        tma.async_copy_global_to_shared(bd, [32 * i, 64 * gl.program_id(1)], full.index(i & 1), bt.index(i & 1))


@gluon.jit
def worker(c_ptr, at, bt, full, empty, steps, M, N, stride, HALF: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    acc = gl.zeros([64, 64], gl.float32, layout=layout)
    for i in range(steps):
        mbarrier.wait(full.index(i & 1), i >> 1 & 1)
        rows = at.index(i & 1).slice(64 * HALF, 64, 0)
        acc = warpgroup_mma(rows, bt.index(i & 1), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index(i & 1), count=1)
    i = 128 * gl.program_id(0) + 64 * HALF + gl.arange(0, 64, gl.SliceLayout(1, layout))
    j = 64 * gl.program_id(1) + gl.arange(0, 64, gl.SliceLayout(0, layout))
    gl.store(c_ptr + i[:, None] * stride + j[None, :], acc.to(at.dtype), mask=(i < M)[:, None] & (j < N)[None, :])


@gluon.jit
def sliced(ad, bd, c_ptr, M, N, stride, steps):
    at = gl.allocate_shared_memory(ad.dtype, [2, 128, 32], ad.layout)
    bt = gl.allocate_shared_memory(bd.dtype, [2, 32, 64], bd.layout)
    full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(2):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=2)
    gl.warp_specialize(
        [
            (worker, (c_ptr, at, bt, full, empty, steps, M, N, stride, 0)),
            (mover, (ad, bd, at, bt, full, empty, steps)),
            (worker, (c_ptr, at, bt, full, empty, steps, M, N, stride, 1)),
        ],
        [1, 4],
        [24, 232],
    )


def specialised_matmul(a, b):
    a, b = padded(a), padded(b)
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    sliced[(triton.cdiv(M, 128), triton.cdiv(N, 64))](describe(a, [128, 32]), describe(b, [32, 64]), c, M, N, c.stride(0), triton.cdiv(K, 32), num_warps=4)
    return c
"""
)

for _style, _text in {
    "one consumer, slot and parity by counters": SPECIAL,
    "the producer runs in the program's own warps": PRODUCER_FIRST,
    "consumers report all slots as empty at first": TOLD_EMPTY,
    "a producer for each operand": TWO_PRODUCERS,
    "halves of one tile of a, ordinary stores": ONE_HALF_EACH,
}.items():
    right("specialised_matmul", _style)(written(_text))

slip(
    "specialised_matmul",
    SPECIAL,
    "The producer waits for a first emptying.",
    "deadlock",
    "the first emptying is waited for",
    edits=(("    parity = 1\n", "    parity = 0\n"),),
)
slip(
    "specialised_matmul",
    SPECIAL,
    "The consumer never gives a slot back.",
    "deadlock",
    "slots are never given back",
    edits=(("        mbarrier.arrive(empty.index(s), count=1)\n", ""),),
)
slip(
    "specialised_matmul",
    SPECIAL,
    "The slot is given back before its product was waited for.",
    "wgmma not waited for",
    "overwritten",
    "given back while it is read",
    edits=(
        (
            "        acc = warpgroup_mma_wait(0, deps=[acc])\n        mbarrier.arrive(empty.index(s), count=1)\n",
            "        mbarrier.arrive(empty.index(s), count=1)\n        acc = warpgroup_mma_wait(0, deps=[acc])\n",
        ),
    ),
)
slip(
    "specialised_matmul",
    SPECIAL,
    "The producer does not wait for empty slots.",
    "expected again",
    "overwritten",
    "filled without being empty",
    "phase overrun",
    edits=(("        mbarrier.wait(empty.index(s), parity)\n", ""),),
)
slip(
    "specialised_matmul",
    SPECIAL,
    "No fence before the copy out.",
    "no fence",
    "stored without a fence",
    edits=(("    fence_async_shared()\n", ""),),
)
slip(
    "specialised_matmul",
    TOLD_EMPTY,
    "Emptiness is reported, and the first wait lets through as well.",
    "expected again",
    "overwritten",
    "filled without being empty",
    "phase overrun",
    "wgmma not waited for",
    "arrival too many",
    "phase is off",
    "copy not waited for",
    "deadlock",
    edits=(
        (
            "    s = 0\n    parity = 0\n    for k in range(0, K, 64):\n        mbarrier.wait(empty",
            "    s = 0\n    parity = 1\n    for k in range(0, K, 64):\n        mbarrier.wait(empty",
        ),
    ),
)
slip(
    "specialised_matmul",
    TWO_PRODUCERS,
    "Two producers report, and one arrival is counted.",
    "arrival too many",
    "bytes",
    "phase overrun",
    "copy not waited for",
    "expected again",
    "phase is off",
    edits=(("full.index(s), count=2", "full.index(s), count=1"),),
)
slip(
    "specialised_matmul",
    TWO_PRODUCERS,
    "The slot of this step is given back with one product left.",
    "wgmma not waited for",
    "given back while it is read",
    edits=(
        (
            "        if i > 0:\n            mbarrier.arrive(empty.index((i - 1) % S), count=1)",
            "        mbarrier.arrive(empty.index(i % S), count=1)",
        ),
    ),
)
slip(
    "specialised_matmul",
    TWO_PRODUCERS,
    "Behind the loop a product is still under way.",
    "product not waited for",
    "the sum is used too early",
    edits=(("    acc = warpgroup_mma_wait(0, deps=[acc])\n    ct", "    ct"),),
)
slip(
    "specialised_matmul",
    ONE_HALF_EACH,
    "Both consumers multiply the first half of a.",
    "both consumers take the same rows",
    "one edit",
    edits=((".slice(64 * HALF, 64, 0)", ".slice(0, 64, 0)"),),
)
slip(
    "specialised_matmul",
    ONE_HALF_EACH,
    "Two consumers report, and one arrival is counted.",
    "one consumer is enough",
    "overwritten",
    "phase overrun",
    "arrival too many",
    "wgmma not waited for",
    edits=(("empty.index(s), count=2", "empty.index(s), count=1"),),
)
slip(
    "specialised_matmul",
    ONE_HALF_EACH,
    "Both consumers store the same rows.",
    "both consumers store to the same rows",
    "race",
    "some rows",
    edits=(("i = 128 * gl.program_id(0) + 64 * HALF + gl", "i = 128 * gl.program_id(0) + gl"),),
)
