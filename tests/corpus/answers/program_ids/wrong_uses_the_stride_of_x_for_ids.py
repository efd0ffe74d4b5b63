# label: wrong
# title: uses the stride of x for ids
# says: ids is a new tensor with stride 1; x's stride carries the store beyond its end.
# names: out_of_bounds

@triton.jit
def _strided_ids(out_ptr, stride, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    o = p * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + o * stride, p, mask=o < n)


def uses_the_stride_of_x_for_ids(x, block):
    out = torch.empty(x.numel(), dtype=torch.int32)
    _strided_ids[(triton.cdiv(x.numel(), block),)](out, x.stride(0), x.numel(), BLOCK=block)
    return out
