# label: wrong
# title: result allocated like p, stored row by row
# says: empty_like(p) has the strides of a transposed p, and the store takes rows to lie one after the other
# names: stored row by row


@triton.jit
def gradient_of_a_row(p_ptr, dp_ptr, ds_ptr, columns, p_down, p_across, dp_down, dp_across, LANES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, LANES)
    here = lane < columns
    p = tl.load(p_ptr + row * p_down + lane * p_across, mask=here, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + row * dp_down + lane * dp_across, mask=here, other=0.0).to(tl.float32)
    ds = p * (dp - tl.sum(p * dp))
    tl.store(ds_ptr + row * columns + lane, ds, mask=here)


def softmax_backward(p, dp):
    rows, columns = p.shape
    ds = torch.empty_like(p)
    lanes = triton.next_power_of_2(columns)
    gradient_of_a_row[(rows,)](p, dp, ds, columns, *p.stride(), *dp.stride(), LANES=lanes, num_warps=8)
    return ds
