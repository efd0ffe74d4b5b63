# label: right
# title: one consumer, slot and parity by counters

# INCLUDE: shared/_describe_and_padded


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


def specialised_matmul(a, b):
    a, b = padded(a), padded(b)
    (M, K), N = a.shape, b.shape[1]
    c = padded(torch.empty(M, N, dtype=a.dtype, device=a.device))
    one_and_one[(triton.cdiv(M, 64), triton.cdiv(N, 128))](describe(a, [64, 64]), describe(b, [64, 128]), describe(c, [64, 128]), K, num_warps=4)
    return c
