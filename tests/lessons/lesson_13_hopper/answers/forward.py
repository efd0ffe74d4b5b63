"""Answers to fa3_forward: right ones in unusual styles, and slips."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from tests.corpus import edited, right, written, wrong
from tests.lessons.lesson_13_hopper.answers.gluon_preamble import GLUON

LAUNCH = """

def whole(t):
    per = 16 // t.element_size()
    out = torch.empty(*t.shape[:3], t.shape[3], dtype=t.dtype, device=t.device)
    return out.copy_(t)


def boxes(t, rows):
    block = [1, 1, rows, t.shape[3]]
    strides = [t.shape[1] * t.shape[2] * t.shape[3], t.shape[2] * t.shape[3], t.shape[3], 1]
    return TensorDescriptor(t, list(t.shape), strides, block, gl.NVMMASharedLayout.get_default_for(block, TYPES[t.dtype]))


def fa3_forward(q, k, v, causal, alpha):
    q, k, v = whole(q), whole(k), whole(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    o = torch.empty_like(q)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    KERNEL[(triton.cdiv(S_q, ROWS_OF_PROGRAM), H, B)](
        boxes(q, BOX), boxes(k, BLOCK), boxes(v, BLOCK), boxes(o, BOX), lse, alpha, H, H // H_k, S_q, S_k,
        D=D, BLOCK=BLOCK, CAUSAL=causal, num_warps=4)
    return o, lse
"""


def launch(kernel: str, rows: int, box: int, block: int) -> str:
    """The launcher of a kernel whose programs own `rows` queries, in tiles of `box`."""
    text = LAUNCH.replace("KERNEL", kernel).replace("ROWS_OF_PROGRAM", str(rows)).replace("BOX", str(box))
    return text.replace("BLOCK=BLOCK", f"BLOCK={block}").replace("BLOCK)", f"{block})")


ONE_PARTITION = (
    GLUON
    + """
@gluon.jit
def lonely(qd, kd, vd, od, lse_ptr, alpha, H, G, S_q, S_k, D: gl.constexpr, BLOCK: gl.constexpr, CAUSAL: gl.constexpr):
    ls: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK, 16])
    lo: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    left: gl.constexpr = gl.DotOperandLayout(0, lo, 2)
    row = gl.program_id(0) * 64
    h = gl.program_id(1)
    b = gl.program_id(2)
    qt = gl.allocate_shared_memory(qd.dtype, [1, 1, 64, D], qd.layout)
    kt = gl.allocate_shared_memory(kd.dtype, [1, 1, BLOCK, D], kd.layout)
    vt = gl.allocate_shared_memory(vd.dtype, [1, 1, BLOCK, D], vd.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, qd.block_type.nbytes)
    tma.async_copy_global_to_shared(qd, [b, h, row, 0], bar, qt)
    mbarrier.wait(bar, 0)
    phase = 1
    rows = row + gl.arange(0, 64, layout=gl.SliceLayout(1, ls))
    m = gl.full([64], -float("inf"), gl.float32, layout=gl.SliceLayout(1, ls))
    l = gl.full([64], 0.0, gl.float32, layout=gl.SliceLayout(1, ls))
    acc = gl.zeros([64, D], gl.float32, layout=lo)
    for start in range(0, S_k, BLOCK):
        mbarrier.expect(bar, kd.block_type.nbytes + vd.block_type.nbytes)
        tma.async_copy_global_to_shared(kd, [b, h // G, start, 0], bar, kt)
        tma.async_copy_global_to_shared(vd, [b, h // G, start, 0], bar, vt)
        mbarrier.wait(bar, phase)
        phase ^= 1
        s = warpgroup_mma(qt.reshape([64, D]), kt.reshape([BLOCK, D]).permute([1, 0]), gl.zeros([64, BLOCK], gl.float32, layout=ls), is_async=True)
        s = warpgroup_mma_wait(0, deps=[s]) * alpha
        cols = start + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, ls))
        ok = (cols[None, :] < S_k) & (rows[:, None] >= 0)
        if CAUSAL:
            ok = ok & (cols[None, :] - rows[:, None] <= S_k - S_q)
        s = gl.where(ok, s, -float("inf"))
        new = gl.maximum(m, gl.max(s, 1))
        safe = gl.where(new > -float("inf"), new, 0.0)
        p = gl.exp(s - safe[:, None])
        old = gl.exp(m - safe)
        l = l * old + gl.sum(p, 1)
        m = new
        acc = acc * gl.convert_layout(old, gl.SliceLayout(1, lo))[:, None]
        acc = warpgroup_mma(gl.convert_layout(p.to(qd.dtype), left), vt.reshape([BLOCK, D]), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
    mbarrier.invalidate(bar)
    lse = gl.where(l > 0, m + gl.log(l), -float("inf"))
    gl.store(lse_ptr + (b * H + h) * S_q + rows, lse, mask=rows < S_q)
    acc = acc / gl.convert_layout(gl.where(l > 0, l, 1.0), gl.SliceLayout(1, lo))[:, None]
    qt.reshape([64, D]).store(acc.to(od.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(od, [b, h, row, 0], qt)
    tma.store_wait(0)
"""
    + launch("lonely", 64, 64, 64)
)
BACKWARDS = ONE_PARTITION.replace(
    "for start in range(0, S_k, BLOCK):",
    "for back in range(gl.cdiv(S_k, BLOCK)):\n        start = (gl.cdiv(S_k, BLOCK) - 1 - back) * BLOCK",
)
EIGHT_WARPS = (
    ONE_PARTITION.replace("lonely", "wide")
    .replace("[4, 1], [16", "[8, 1], [16")
    .replace("num_warps=4", "num_warps=8")
    .replace("64, D]", "128, D]")
    .replace("[64, BLOCK]", "[128, BLOCK]")
    .replace("gl.arange(0, 64,", "gl.arange(0, 128,")
    .replace("gl.full([64]", "gl.full([128]")
    .replace("gl.program_id(0) * 64", "gl.program_id(0) * 128")
    .replace("triton.cdiv(S_q, 64)", "triton.cdiv(S_q, 128)")
    .replace("boxes(q, 64)", "boxes(q, 128)")
    .replace("boxes(o, 64)", "boxes(o, 128)")
)
SPECIAL = (
    GLUON
    + """
@gluon.jit
def feeder(qd, kd, vd, qt, kt, vt, qf, kf, vf, free, n, b, h, hk, row, BLOCK: gl.constexpr):
    mbarrier.expect(qf, qd.block_type.nbytes)
    tma.async_copy_global_to_shared(qd, [b, h, row, 0], qf, qt)
    slot = 0
    turn = 1
    for i in range(n):
        mbarrier.wait(free.index(slot), turn)
        mbarrier.expect(kf.index(slot), kd.block_type.nbytes)
        tma.async_copy_global_to_shared(kd, [b, hk, i * BLOCK, 0], kf.index(slot), kt.index(slot))
        mbarrier.expect(vf.index(slot), vd.block_type.nbytes)
        tma.async_copy_global_to_shared(vd, [b, hk, i * BLOCK, 0], vf.index(slot), vt.index(slot))
        slot += 1
        if slot == 3:
            slot = 0
            turn ^= 1


@gluon.jit
def eater(od, lse_ptr, qt, kt, vt, qf, kf, vf, free, n, b, h, H, row, S_q, S_k, c, D: gl.constexpr, BLOCK: gl.constexpr, CAUSAL: gl.constexpr):
    ls: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK, 16])
    lo: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    rows = row + gl.arange(0, 64, layout=gl.SliceLayout(1, ls))
    m = gl.full([64], -1e30, gl.float32, layout=gl.SliceLayout(1, ls))
    l = gl.full([64], 0.0, gl.float32, layout=gl.SliceLayout(1, ls))
    acc = gl.zeros([64, D], gl.float32, layout=lo)
    mbarrier.wait(qf, 0)
    slot = 0
    turn = 0
    for i in range(n):
        mbarrier.wait(kf.index(slot), turn)
        s = warpgroup_mma(qt.reshape([64, D]), kt.index(slot).reshape([BLOCK, D]).permute([1, 0]), gl.zeros([64, BLOCK], gl.float32, layout=ls), use_acc=False, is_async=True)
        s = warpgroup_mma_wait(0, deps=[s]) * c
        cols = i * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, ls))
        ok = (cols < S_k)[None, :] & (rows < 1 << 30)[:, None]
        if CAUSAL:
            ok = ok & (cols[None, :] <= (rows + S_k - S_q)[:, None])
        s = gl.where(ok, s, -float("inf"))
        new = gl.maximum(m, gl.max(s, 1))
        p = gl.exp2(s - new[:, None])
        old = gl.exp2(m - new)
        l = l * old + gl.sum(p, 1)
        m = new
        acc = acc * gl.convert_layout(old, gl.SliceLayout(1, lo))[:, None]
        mbarrier.wait(vf.index(slot), turn)
        acc = warpgroup_mma(gl.convert_layout(p.to(od.dtype), gl.DotOperandLayout(0, lo, 2)), vt.index(slot).reshape([BLOCK, D]), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(free.index(slot), count=1)
        slot += 1
        if slot == 3:
            slot = 0
            turn ^= 1
    gl.store(lse_ptr + (b * H + h) * S_q + rows, gl.where(l > 0, (m + gl.log2(l)) / 1.4426950408889634, -float("inf")), mask=rows < S_q)
    acc = acc / gl.convert_layout(gl.where(l > 0, l, 1.0), gl.SliceLayout(1, lo))[:, None]
    qt.reshape([64, D]).store(acc.to(od.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(od, [b, h, row, 0], qt)
    tma.store_wait(0)


@gluon.jit
def pair(qd, kd, vd, od, lse_ptr, alpha, H, G, S_q, S_k, D: gl.constexpr, BLOCK: gl.constexpr, CAUSAL: gl.constexpr):
    qt = gl.allocate_shared_memory(qd.dtype, [1, 1, 64, D], qd.layout)
    kt = gl.allocate_shared_memory(kd.dtype, [3, 1, 1, BLOCK, D], kd.layout)
    vt = gl.allocate_shared_memory(vd.dtype, [3, 1, 1, BLOCK, D], vd.layout)
    qf = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    kf = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    vf = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    mbarrier.init(qf, count=1)
    for s in gl.static_range(3):
        mbarrier.init(kf.index(s), count=1)
        mbarrier.init(vf.index(s), count=1)
        mbarrier.init(free.index(s), count=1)
    row = gl.program_id(0) * 64
    h = gl.program_id(1)
    b = gl.program_id(2)
    n = gl.cdiv(S_k, BLOCK)
    gl.warp_specialize([
        (eater, (od, lse_ptr, qt, kt, vt, qf, kf, vf, free, n, b, h, H, row, S_q, S_k, alpha * 1.4426950408889634, D, BLOCK, CAUSAL)),
        (feeder, (qd, kd, vd, qt, kt, vt, qf, kf, vf, free, n, b, h, h // G, row, BLOCK)),
    ], [1], [24])
"""
    + launch("pair", 64, 64, 64)
)
EARLY_END = SPECIAL.replace(
    "    n = gl.cdiv(S_k, BLOCK)\n",
    "    n = gl.cdiv(S_k, BLOCK)\n    if CAUSAL:\n        n = gl.maximum(gl.cdiv(gl.minimum(S_k, row + 64 + S_k - S_q), BLOCK), 0)\n",
)

right("fa3_forward", "one partition does it all, one slot, natural exponentials")(written(ONE_PARTITION))
right("fa3_forward", "the last keys first")(written(BACKWARDS))
right("fa3_forward", "eight warps and 128 queries in one partition")(written(EIGHT_WARPS))
right(
    "fa3_forward",
    "one consumer, three slots with counters of its own, a finite maximum, one report for K and V",
)(written(SPECIAL))
right("fa3_forward", "the same; a tile of queries that sees nothing visits no block")(written(EARLY_END))

wrong(
    "fa3_forward", "The barrier of K's slot is not waited for.", "copy not waited for", "K is not waited for"
)(edited(SPECIAL, ("        mbarrier.wait(kf.index(slot), turn)\n", "")))
wrong(
    "fa3_forward",
    "V is read before its barrier was waited for.",
    "copy not waited for",
    "V is not waited for",
)(edited(SPECIAL, ("        mbarrier.wait(vf.index(slot), turn)\n", "")))
wrong(
    "fa3_forward",
    "The slot is given back before P V has read V.",
    "wgmma not waited for",
    "V is given back before its product is over",
)(
    edited(
        SPECIAL,
        (
            "        acc = warpgroup_mma_wait(0, deps=[acc])\n        mbarrier.arrive(free.index(slot), count=1)\n",
            "        mbarrier.arrive(free.index(slot), count=1)\n        acc = warpgroup_mma_wait(0, deps=[acc])\n",
        ),
    )
)
wrong(
    "fa3_forward",
    "The consumer's phase never turns.",
    "phase is off",
    "deadlock",
    "K's phase never turns",
    "V's phase never turns",
)(edited(SPECIAL, ("            turn ^= 1\n    gl.store", "            turn ^= 0\n    gl.store")))
wrong(
    "fa3_forward",
    "The producer waits for the slot's first emptying.",
    "deadlock",
    "the first emptying is waited for",
)(edited(SPECIAL, ("    turn = 1\n", "    turn = 0\n")))
wrong(
    "fa3_forward",
    "S is scaled before its product was waited for.",
    "product not waited for",
    "a product is used before its wait",
)(edited(SPECIAL, ("s = warpgroup_mma_wait(0, deps=[s]) * c", "s = s * c")))
wrong("fa3_forward", "log2 e is missing.", "log2 e is missing")(
    edited(SPECIAL, ("alpha * 1.4426950408889634, D", "alpha, D"))
)
wrong("fa3_forward", "LSE is left in base 2.", "LSE in base 2")(
    edited(SPECIAL, ("(m + gl.log2(l)) / 1.4426950408889634", "m + gl.log2(l)"))
)
wrong("fa3_forward", "acc is not rescaled.", "acc not rescaled")(
    edited(SPECIAL, ("        acc = acc * gl.convert_layout(old, gl.SliceLayout(1, lo))[:, None]\n", ""))
)
wrong("fa3_forward", "Keys from S_k on are not masked.", "the ragged end is not masked")(
    edited(SPECIAL, ("(cols < S_k)[None, :] &", "(cols < 1 << 30)[None, :] &"))
)
wrong("fa3_forward", "The mask is aligned top-left.", "top-left alignment")(
    edited(SPECIAL, ("(rows + S_k - S_q)[:, None]", "rows[:, None]"))
)
wrong("fa3_forward", "Heads of K are dealt round.", "heads dealt round")(
    edited(SPECIAL, ("b, h, h // G, row, BLOCK", "b, h, h % (H // G), row, BLOCK"))
)
wrong("fa3_forward", "The fence behind the store of O is missing.", "no fence")(
    edited(SPECIAL, ("    fence_async_shared()\n", ""))
)
