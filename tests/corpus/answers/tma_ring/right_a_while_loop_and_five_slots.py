# label: right
# title: a while loop and five slots

# INCLUDE: shared/_describe_and_padded


@gluon.jit
def ask(src, row, i, n, bars, bufs, S: gl.constexpr):
    mbarrier.expect(bars.index(i % S), src.block_type.nbytes, pred=i < n)
    tma.async_copy_global_to_shared(src, [row, i * 32], bars.index(i % S), bufs.index(i % S), pred=i < n)


@gluon.jit
def with_while(src, y, M, N):
    S: gl.constexpr = 5
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    row = gl.program_id(0) * 64
    n = gl.cdiv(N, 32)
    bufs = gl.allocate_shared_memory(src.dtype, [S, 64, 32], src.layout)
    bars = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(S):
        mbarrier.init(bars.index(s), count=1)
    for s in gl.static_range(S - 1):
        ask(src, row, s, n, bars, bufs, S)
    acc = gl.zeros([64], gl.float32, layout=gl.SliceLayout(1, layout))
    i = 0
    while i < n:
        mbarrier.wait(bars.index(i % S), (i // S) % 2)
        acc = acc + gl.sum(bufs.index(i % S).load(layout).to(gl.float32), axis=1)
        ask(src, row, i + S - 1, n, bars, bufs, S)
        i += 1
    at = row + gl.arange(0, 64, gl.SliceLayout(1, layout))
    gl.store(y + at, acc, mask=at < M)


def tma_ring(x):
    src = padded(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    with_while[(triton.cdiv(x.shape[0], 64),)](describe(src, [64, 32]), y, x.shape[0], x.shape[1], num_warps=4)
    return y
