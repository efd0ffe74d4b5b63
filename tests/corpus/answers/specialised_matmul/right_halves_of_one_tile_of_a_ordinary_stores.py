# label: right
# title: halves of one tile of a, ordinary stores

# INCLUDE: shared/_describe_and_padded


@gluon.jit
def mover(ad, bd, at, bt, full, empty, steps):
    for i in range(steps):
        mbarrier.wait(empty.index(i & 1), (i >> 1 & 1) ^ 1)
        mbarrier.expect(full.index(i & 1), ad.block_type.nbytes + bd.block_type.nbytes)
        tma.async_copy_global_to_shared(ad, [128 * gl.program_id(0), 32 * i], full.index(i & 1), at.index(i & 1))
        tma.async_copy_global_to_shared(bd, [32 * i, 64 * gl.program_id(1)], full.index(i & 1), bt.index(i & 1))


@gluon.jit
def worker(c_ptr, at, bt, full, empty, steps, M, N, stride, HALF: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    acc = gl.zeros([64, 64], gl.float32, layout=layout)
    for i in range(steps):
        mbarrier.wait(full.index(i & 1), i >> 1 & 1)
        rows = at.index(i & 1).slice(64 * HALF, 64, 0)
        acc = warpgroup_mma(rows, bt.index(i & 1), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index(i & 1), count=1)
    i = 128 * gl.program_id(0) + 64 * HALF + gl.arange(0, 64, gl.SliceLayout(1, layout))
    j = 64 * gl.program_id(1) + gl.arange(0, 64, gl.SliceLayout(0, layout))
    gl.store(c_ptr + i[:, None] * stride + j[None, :], acc.to(at.dtype), mask=(i < M)[:, None] & (j < N)[None, :])


@gluon.jit
def sliced(ad, bd, c_ptr, M, N, stride, steps):
    at = gl.allocate_shared_memory(ad.dtype, [2, 128, 32], ad.layout)
    bt = gl.allocate_shared_memory(bd.dtype, [2, 32, 64], bd.layout)
    full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(2):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=2)
    gl.warp_specialize(
        [
            (worker, (c_ptr, at, bt, full, empty, steps, M, N, stride, 0)),
            (mover, (ad, bd, at, bt, full, empty, steps)),
            (worker, (c_ptr, at, bt, full, empty, steps, M, N, stride, 1)),
        ],
        [1, 4],
        [24, 232],
    )


def specialised_matmul(a, b):
    a, b = padded(a), padded(b)
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    sliced[(triton.cdiv(M, 128), triton.cdiv(N, 64))](describe(a, [128, 32]), describe(b, [32, 64]), c, M, N, c.stride(0), triton.cdiv(K, 32), num_warps=4)
    return c
