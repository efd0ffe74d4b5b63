# label: right
# title: few programs walk over all tiles

# INCLUDE: shared/_describe_and_padded


@gluon.jit
def walk(src, dst, across, tiles):
    buf = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    phase = 0
    for t in range(gl.program_id(0), tiles, gl.num_programs(0)):
        row = t // across * src.block_type.shape[0]
        col = t % across * src.block_type.shape[1]
        mbarrier.expect(bar, src.block_type.nbytes)
        tma.async_copy_global_to_shared(src, [row, col], bar, buf)
        mbarrier.wait(bar, phase)
        tma.async_copy_shared_to_global(dst, [row, col], buf)
        tma.store_wait(0)
        phase = phase ^ 1


def tma_copy(x):
    src = padded(x)
    dst = padded(torch.empty_like(src))
    across = triton.cdiv(x.shape[1], 32)
    tiles = triton.cdiv(x.shape[0], 16) * across
    walk[(3,)](describe(src, [16, 32]), describe(dst, [16, 32]), across, tiles, num_warps=4)
    return dst
