# label: right
# title: one partition does it all, one slot, natural exponentials

# INCLUDE: shared/_describe_and_padded


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
    lonely[(triton.cdiv(S_q, 64), H, B)](
        boxes(q, 64), boxes(k, 64), boxes(v, 64), boxes(o, 64), lse, alpha, H, H // H_k, S_q, S_k,
        D=D, BLOCK=64, CAUSAL=causal, num_warps=4)
    return o, lse
