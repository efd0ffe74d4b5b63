# label: right
# title: a barrier for a and one for b, copies asked for behind the product

# INCLUDE: shared/_describe_and_padded


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


def wgmma_matmul(a, b):
    a, b = padded(a), padded(b)
    (M, K), N = a.shape, b.shape[1]
    c = padded(torch.empty(M, N, dtype=a.dtype, device=a.device))
    two_bars[(triton.cdiv(M, 64), triton.cdiv(N, 128))](describe(a, [64, 32]), describe(b, [32, 128]), describe(c, [64, 128]), K, num_warps=4)
    return c
