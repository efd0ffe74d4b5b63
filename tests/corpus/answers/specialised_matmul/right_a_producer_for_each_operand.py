# label: right
# title: a producer for each operand

# INCLUDE: shared/_describe_and_padded


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


def specialised_matmul(a, b):
    a, b = padded(a), padded(b)
    (M, K), N = a.shape, b.shape[1]
    c = padded(torch.empty(M, N, dtype=a.dtype, device=a.device))
    three[(triton.cdiv(M, 64), triton.cdiv(N, 64))](describe(a, [64, 64]), describe(b, [64, 64]), describe(c, [64, 64]), K, num_warps=4)
    return c
