# label: wrong
# title: each lane subtracts its own part of the sum
# says: acc has a sum for each lane: before it is subtracted, its lanes must be added with tl.sum.
# names: one edit

@triton.jit
def backward_rows(p_ptr, dp_ptr, ds_ptr, N, p_r, p_c, dp_r, dp_c, ds_r, ds_c, STEP: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, STEP).to(tl.int64)
    part = tl.zeros([STEP], dtype=tl.float32)
    for first in range(0, N, STEP):
        at = first + lane
        weight = tl.load(p_ptr + row * p_r + at * p_c, mask=at < N, other=0.0).to(tl.float32)
        part += weight * tl.load(dp_ptr + row * dp_r + at * dp_c, mask=at < N, other=0.0).to(tl.float32)
    for first in range(0, N, STEP):
        at = first + lane
        weight = tl.load(p_ptr + row * p_r + at * p_c, mask=at < N, other=0.0).to(tl.float32)
        grad = tl.load(dp_ptr + row * dp_r + at * dp_c, mask=at < N, other=0.0).to(tl.float32)
        tl.store(ds_ptr + row * ds_r + at * ds_c, weight * (grad - part), mask=at < N)


def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    backward_rows[(M,)](p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(), STEP=64)
    return ds
