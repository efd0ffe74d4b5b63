"""Answers to fa3_backward: right ones in several styles, and slips."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from flashlearn.kernels.gluon.fa3_backward import fa3_backward as fast
from flashlearn.lessons.lesson_13_hopper.taught_backward import fa3_backward as taught
from tests.corpus import edited, right, written, wrong
from tests.lessons.lesson_13_hopper.answers.gluon_preamble import GLUON

P = "p = gl.exp2(s * (alpha * LOG2_E) - (lse * LOG2_E)[None, :])"
DS = "ds = (p * (dp - delta[None, :])).to(k.dtype)"
ALL = "dv, dk, dq = warpgroup_mma_wait(0, deps=[dv, dk, dq])"
ARRIVE = "        mbarrier.arrive(empty.index(at), count=1)\n"
ADD = "async_add_shared_to_global(dq_desc, [row + i * QUERIES, 0], dq_tile)"
SEEN = "seen = seen & (keys[:, None] <= queries[None, :] + S_k - S_q)"
DV = "dv = warpgroup_mma(gl.convert_layout(p.to(k.dtype), left), do, dv, is_async=True)"
DK = "dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)"
DQ = "dq = warpgroup_mma(ds_tile.permute([1, 0]), k, dq, use_acc=False, is_async=True)"

right("fa3_backward", "the fast one: dS exchanged, half of the columns each, dQ a block behind")(fast)
right("fa3_backward", "natural exponentials, hidden scores −inf, every product waited for at once")(
    edited(
        taught,
        ("s = warpgroup_mma_wait(1, deps=[s])", "s, dp = warpgroup_mma_wait(0, deps=[s, dp])"),
        ("        dp = warpgroup_mma_wait(0, deps=[dp])\n", ""),
        (P, "s = s * alpha"),
        ("p = gl.where(seen, p, 0.0)", 'p = gl.exp(gl.where(seen, s, -float("inf")) - lse[None, :])'),
        (
            DV,
            DV.replace("is_async=True", "is_async=True") + "\n        dv = warpgroup_mma_wait(0, deps=[dv])",
        ),
    )
)
right("fa3_backward", "dQ scaled before it is added, the dK product last")(
    edited(
        taught,
        (f"        {DK}\n", ""),
        (f"        {DQ}\n", f"        {DQ}\n        {DK}\n"),
        ("dq_tile.store(dq)", "dq_tile.store(dq * alpha)"),
        ("(dq_sum[:, :, :S_q] * alpha).to(q.dtype)", "dq_sum[:, :, :S_q].to(q.dtype)"),
    )
)
right("fa3_backward", "the producer is the default partition's neighbour alone: q's barrier apart from do's")(
    edited(
        taught,
        (
            "        mbarrier.expect(full.index(at), q_desc.block_type.nbytes + do_desc.block_type.nbytes)\n",
            "        mbarrier.expect(full.index(at), q_desc.block_type.nbytes)\n",
        ),
        (
            "        tma.async_copy_global_to_shared(do_desc, [b, h, i * QUERIES, 0], full.index(at), do_ring.index(at))\n",
            "        mbarrier.expect(full.index(at), do_desc.block_type.nbytes)\n        tma.async_copy_global_to_shared(do_desc, [b, h, i * QUERIES, 0], full.index(at), do_ring.index(at))\n",
        ),
        ("mbarrier.init(full.index(slot), count=1)", "mbarrier.init(full.index(slot), count=2)"),
    )
)

ALONE = (
    GLUON
    + """
from triton.experimental.gluon.language.nvidia.hopper import mbarrier as mb
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global as add


@gluon.jit
def alone(qd, kd, vd, od, sd, gkd, gvd, lse_p, del_p, alpha, n, m, np, CAUSAL: gl.constexpr):
    D: gl.constexpr = qd.block_type.shape[3]
    square: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    wide: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    pair: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 64], qd.dtype)
    qt = gl.allocate_shared_memory(qd.dtype, [1, 1, 64, D], qd.layout)
    ot = gl.allocate_shared_memory(qd.dtype, [1, 1, 64, D], qd.layout)
    kt = gl.allocate_shared_memory(qd.dtype, [1, 1, 64, D], kd.layout)
    vt = gl.allocate_shared_memory(qd.dtype, [1, 1, 64, D], vd.layout)
    pt = gl.allocate_shared_memory(qd.dtype, [64, 64], pair)
    st = gl.allocate_shared_memory(qd.dtype, [64, 64], pair)
    total = gl.allocate_shared_memory(gl.float32, [64, D], sd.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mb.MBarrierLayout())
    mb.init(bar, count=1)
    h = gl.program_id(0)
    b = gl.program_id(1)
    key = gl.program_id(2) * 64
    row = (b * gl.num_programs(0) + h) * np
    mb.expect(bar, kd.block_type.nbytes + vd.block_type.nbytes)
    tma.async_copy_global_to_shared(kd, [b, h, key, 0], bar, kt)
    tma.async_copy_global_to_shared(vd, [b, h, key, 0], bar, vt)
    mb.wait(bar, 0)
    phase = 1
    k = kt.reshape([64, D])
    v = vt.reshape([64, D])
    gk = gl.zeros([64, D], gl.float32, wide)
    gv = gl.zeros([64, D], gl.float32, wide)
    cols = key + gl.arange(0, 64, gl.SliceLayout(0, square))
    for start in range(0, n, 64):
        mb.expect(bar, qd.block_type.nbytes + od.block_type.nbytes)
        tma.async_copy_global_to_shared(qd, [b, h, start, 0], bar, qt)
        tma.async_copy_global_to_shared(od, [b, h, start, 0], bar, ot)
        mb.wait(bar, phase)
        phase ^= 1
        q = qt.reshape([64, D])
        do = ot.reshape([64, D])
        rows = start + gl.arange(0, 64, gl.SliceLayout(1, square))
        lse = gl.load(lse_p + row + rows)
        delta = gl.load(del_p + row + rows)
        s = warpgroup_mma(q, k.permute([1, 0]), gl.zeros([64, 64], gl.float32, square), use_acc=False, is_async=True)
        s = warpgroup_mma_wait(0, deps=[s])
        keep = (cols < m)[None, :] & (rows < n)[:, None]
        if CAUSAL:
            keep = keep & (cols[None, :] - (m - n) <= rows[:, None])
        p = gl.where(keep, gl.exp(s * alpha - lse[:, None]), 0.0)
        dp = warpgroup_mma(do, v.permute([1, 0]), gl.zeros([64, 64], gl.float32, square), use_acc=False, is_async=True)
        dp = warpgroup_mma_wait(0, deps=[dp])
        pt.store(p.to(qd.dtype))
        st.store((p * (dp - delta[:, None])).to(qd.dtype))
        fence_async_shared()
        gv = warpgroup_mma(pt.permute([1, 0]), do, gv, is_async=True)
        gk = warpgroup_mma(st.permute([1, 0]), q, gk, is_async=True)
        share = warpgroup_mma(st, k, gl.zeros([64, D], gl.float32, wide), use_acc=False, is_async=True)
        gv, gk, share = warpgroup_mma_wait(0, deps=[gv, gk, share])
        total.store(share)
        fence_async_shared()
        add(sd, [row + start, 0], total)
        tma.store_wait(0)
    k.store((gk * alpha).to(qd.dtype))
    v.store(gv.to(qd.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(gkd, [b, h, key, 0], kt)
    tma.async_copy_shared_to_global(gvd, [b, h, key, 0], vt)
    tma.store_wait(0)


def fa3_backward(q, k, v, o, do, lse, causal=False, alpha=None):
    B, H, n, D = q.shape
    m = k.shape[2]
    if alpha is None:
        alpha = D ** -0.5
    q, k, v, do = [t.clone(memory_format=torch.contiguous_format) for t in (q, k, v, do)]
    np = (n + 63) // 64 * 64
    big = torch.full([B, H, np], float("inf"), device=q.device)
    big[:, :, :n] = torch.where(lse == -float("inf"), float("inf"), lse)
    delta = torch.zeros([B, H, np], device=q.device)
    delta[:, :, :n] = (o.float() * do.float()).sum(-1)
    sums = torch.zeros([B * H * np, D], device=q.device)
    gk, gv = torch.empty_like(k), torch.empty_like(v)
    four = [describe(t, [1, 1, 64, D]) for t in (q, k, v, do)]
    alone[(H, B, (m + 63) // 64)](*four, describe(sums, [64, D]), describe(gk, [1, 1, 64, D]), describe(gv, [1, 1, 64, D]), big, delta, alpha, n, m, np, CAUSAL=causal, num_warps=4)
    return (sums.view(B, H, np, D)[:, :, :n] * alpha).to(q.dtype), gk, gv
"""
)
right("fa3_backward", "one partition alone, queries as rows, P and dS turned round in shared memory")(
    written(ALONE, "fa3_backward")
)


def slip(says: str, *names: str, edits: tuple, base=taught) -> None:
    """A right answer with a few places changed."""
    changed = edited(base, *edits, launcher="fa3_backward" if isinstance(base, str) else "")
    wrong("fa3_backward", says, *names, title=says)(changed)


slip("delta is not subtracted.", "delta omitted", edits=((DS, "ds = (p * dp).to(k.dtype)"),))
slip(
    "LSE is taken for one of base 2.",
    "log2 e is missing from LSE",
    edits=((P, P.replace("(lse * LOG2_E)", "lse")),),
)
slip(
    "dK lacks alpha.",
    "alpha is missing from dK",
    "constant factor",
    edits=(("k.store((dk * alpha)", "k.store((dk)"),),
)
slip(
    "dQ and dK are returned without alpha.",
    "alpha is missing from dQ and dK",
    "constant factor",
    edits=(
        ("k.store((dk * alpha)", "k.store((dk)"),
        ("(dq_sum[:, :, :S_q] * alpha)", "(dq_sum[:, :, :S_q])"),
    ),
)
slip(
    "dK and dV change places.",
    "dK and dV exchanged",
    edits=(
        (
            "[b, h, key, 0], k_tiles.index(CONSUMER))\n    tma.async_copy_shared_to_global(dv_desc, [b, h, key, 0], v_tiles.index(CONSUMER))",
            "[b, h, key, 0], v_tiles.index(CONSUMER))\n    tma.async_copy_shared_to_global(dv_desc, [b, h, key, 0], k_tiles.index(CONSUMER))",
        ),
    ),
)
slip(
    "The causal mask is aligned top-left.",
    "mask aligned top-left",
    edits=((SEEN, SEEN.replace(" + S_k - S_q", "")),),
)
slip("The causal mask is missing.", "mask forgotten", edits=((SEEN, "seen = seen & True"),))
slip(
    "The slot is given back before the products that read it are over.",
    "given back while products read it",
    "wgmma not waited for",
    edits=((f"        {ALL}\n{ARRIVE}", f"{ARRIVE}        {ALL}\n"),),
)
slip(
    "dQ is read from the product without a wait.",
    "product not waited for",
    "a product is used too early",
    edits=((f"        {ALL}\n", "        dv, dk = warpgroup_mma_wait(1, deps=[dv, dk])\n"),),
)
slip(
    "No fence before the tensor core reads dS.",
    "dS without a fence",
    "no fence",
    edits=(("        fence_async_shared()  # the tensor core sees what ordinary stores wrote\n", ""),),
)
slip(
    "The tile of dQ is overwritten while the copy engine adds it.",
    "dQ's tile is still being read",
    "tma store not waited for",
    edits=(("        tma.store_wait(0)  # the copy engine has read the block before\n", ""),),
)
slip(
    "dQ is stored over the others' shares.",
    "stored, not added",
    "race",
    edits=((ADD, ADD.replace("async_add_shared_to_global", "tma.async_copy_shared_to_global")),),
)
slip(
    "Only one consumer reports each slot as empty.",
    "slots are never given back",
    "deadlock",
    edits=((ARRIVE, "        mbarrier.arrive(empty.index(at), count=1, pred=CONSUMER == 0)\n"),),
)
slip(
    "The phase of the ring turns with every block.",
    "phase is off",
    "the phase never turns",
    edits=(("mbarrier.wait(full.index(at), phase)", "mbarrier.wait(full.index(at), (i - first) % 2)"),),
)
slip(
    "One partition: the copy of dS's turned tile has no fence.",
    "no fence",
    "dS without a fence",
    base=ALONE,
    edits=(("        fence_async_shared()\n        gv = ", "        gv = "),),
)
slip(
    "One partition: dP from K.",
    "dP from K",
    base=ALONE,
    edits=(("dp = warpgroup_mma(do, v.permute", "dp = warpgroup_mma(do, k.permute"),),
)
slip(
    "The sum of dQ begins anywhere.",
    "uninitialised memory",
    "one edit",
    edits=(("dq_sum = torch.zeros(", "dq_sum = torch.empty("),),
)
