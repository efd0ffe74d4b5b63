# label: wrong
# title: everything in the dtype of the inputs
# says: Nothing is converted to fp32: for fp16 and bf16 the products and their sum are rounded in half
#   precision, and the subtraction dp − inner leaves only the rounding (dp around 60 shows it).
#   `.to(tl.float32)` after both loads.
# names: sum in half precision

@triton.jit
def load_row(base, row_stride, col_stride, N, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    return tl.load(base + i * row_stride + j * col_stride, mask=j < N, other=0.0)

@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    share = load_row(p_ptr, p_row, p_col, N, BLOCK)
    grad = load_row(dp_ptr, dp_row, dp_col, N, BLOCK)
    mean = tl.sum(share * grad, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, share * (grad - mean), mask=j < N)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
