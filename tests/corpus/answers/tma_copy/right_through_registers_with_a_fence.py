# label: right
# title: through registers, with a fence

# INCLUDE: shared/_describe_and_padded


@gluon.jit
def through(src, dst):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [4, 1], [1, 0])
    at = [gl.program_id(0) * 64, gl.program_id(1) * 64]
    came = gl.allocate_shared_memory(src.dtype, [64, 64], src.layout)
    goes = gl.allocate_shared_memory(dst.dtype, [64, 64], dst.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, src.block_type.nbytes)
    tma.async_copy_global_to_shared(src, at, bar, came)
    mbarrier.wait(bar, 0)
    goes.store(came.load(layout))
    fence_async_shared()
    tma.async_copy_shared_to_global(dst, at, goes)
    tma.store_wait(0)
    mbarrier.invalidate(bar)


def tma_copy(x):
    src = padded(x)
    dst = padded(torch.empty_like(src))
    through[(triton.cdiv(x.shape[0], 64), triton.cdiv(x.shape[1], 64))](describe(src, [64, 64]), describe(dst, [64, 64]), num_warps=4)
    return dst
