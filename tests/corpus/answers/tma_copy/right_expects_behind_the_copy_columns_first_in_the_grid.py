# label: right
# title: expects behind the copy, columns first in the grid

# INCLUDE: shared/_describe_and_padded


@gluon.jit
def one(src, dst):
    at = [gl.program_id(1) * 32, gl.program_id(0) * 128]
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    buf = gl.allocate_shared_memory(src.dtype, [32, 128], src.layout)
    tma.async_copy_global_to_shared(src, at, bar, buf)
    mbarrier.expect(bar, src.block_type.nbytes)
    mbarrier.wait(bar, 0)
    tma.async_copy_shared_to_global(dst, at, buf)
    tma.store_wait(0)


def tma_copy(x):
    src = padded(x)
    dst = padded(torch.empty_like(src))
    one[(triton.cdiv(x.shape[1], 128), triton.cdiv(x.shape[0], 32))](describe(src, [32, 128]), describe(dst, [32, 128]), num_warps=4)
    return dst
