# label: right
# title: one slot, every product waited for, use_acc from the second step on

# INCLUDE: shared/_describe_and_padded


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


def wgmma_matmul(a, b):
    a, b = padded(a), padded(b)
    (M, K), N = a.shape, b.shape[1]
    c = padded(torch.empty(M, N, dtype=a.dtype, device=a.device))
    patient[(triton.cdiv(M, 64), triton.cdiv(N, 64))](describe(a, [64, 64]), describe(b, [64, 64]), describe(c, [64, 64]), K, num_warps=4)
    return c
