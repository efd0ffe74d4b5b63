# label: right
# title: b as its transpose with permute, ordinary stores, columns first in the grid

# INCLUDE: shared/_describe_and_padded


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
