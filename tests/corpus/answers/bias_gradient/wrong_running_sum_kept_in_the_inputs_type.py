# label: wrong
# title: running sum kept in the input's type
# says: `acc` has the element type of dy and is rounded back to it in every turn; for fp16 and bf16 the
#   running sum loses digits (a long column, or one that cancels). Keep it in tl.float32 and let the store
#   convert.
# names: precision; tiles summed in half precision

@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    dtype: tl.constexpr = dy_ptr.dtype.element_ty
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    acc = tl.zeros([BLOCK_N], dtype)
    for start in range(0, M, BLOCK_M):
        i = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        g = tl.load(
            dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col,
            mask=(i < M)[:, None] & (j < N)[None, :], other=0.0,
        )
        acc += tl.sum(g.to(tl.float32), axis=0).to(dtype)
    tl.store(db_ptr + j, acc, mask=j < N)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N),)
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db
