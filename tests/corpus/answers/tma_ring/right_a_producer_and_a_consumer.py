# label: right
# title: a producer and a consumer

# INCLUDE: shared/_describe_and_padded


@gluon.jit
def bring(src, buf, full, empty, n, S: gl.constexpr):
    for i in range(n):
        mbarrier.wait(empty.index(i % S), (i // S & 1) ^ 1)
        mbarrier.expect(full.index(i % S), src.block_type.nbytes)
        tma.async_copy_global_to_shared(src, [gl.program_id(0) * 32, 64 * i], full.index(i % S), buf.index(i % S))


@gluon.jit
def add(y, buf, full, empty, M, n, S: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    acc = gl.zeros([32], gl.float32, layout=gl.SliceLayout(1, layout))
    for i in range(n):
        mbarrier.wait(full.index(i % S), i // S & 1)
        v = buf.index(i % S).load(layout)
        mbarrier.arrive(empty.index(i % S), count=1)
        acc += gl.sum(v.to(gl.float32), axis=1)
    at = gl.program_id(0) * 32 + gl.arange(0, 32, gl.SliceLayout(1, layout))
    gl.store(y + at, acc, mask=at < M)


@gluon.jit
def divided(src, y, M, n, S: gl.constexpr):
    buf = gl.allocate_shared_memory(src.dtype, [S, 32, 64], src.layout)
    full = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(S):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    gl.warp_specialize([(add, (y, buf, full, empty, M, n, S)), (bring, (src, buf, full, empty, n, S))], [1], [24])


def tma_ring(x):
    src = padded(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    divided[(triton.cdiv(x.shape[0], 32),)](describe(src, [32, 64]), y, x.shape[0], triton.cdiv(x.shape[1], 64), S=2, num_warps=4)
    return y
