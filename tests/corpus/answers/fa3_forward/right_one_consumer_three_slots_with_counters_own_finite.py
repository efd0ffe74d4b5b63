# label: right
# title: one consumer, three slots with counters of its own, a finite maximum, one report for K and V

# INCLUDE: shared/_describe_and_padded


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
    pair[(triton.cdiv(S_q, 64), H, B)](
        boxes(q, 64), boxes(k, 64), boxes(v, 64), boxes(o, 64), lse, alpha, H, H // H_k, S_q, S_k,
        D=D, BLOCK=64, CAUSAL=causal, num_warps=4)
    return o, lse
