# label: right
# title: one partition alone, queries as rows, P and dS turned round in shared memory

# INCLUDE: shared/_describe_and_padded


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
