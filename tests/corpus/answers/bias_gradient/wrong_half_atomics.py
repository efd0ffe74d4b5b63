# label: wrong
# title: half atomics
# says: line db = torch.zeros(N, dtype=dy.dtype): the tiles are added atomically into a buffer of the dtype of
#   dy, so half-precision inputs are accumulated in half and not in fp32
# names: precision

from torch import Tensor


@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    r = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    c = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    tile = tl.load(
        dy_ptr + r[:, None] * dy_row + c[None, :] * dy_col, mask=(r < M)[:, None] & (c < N)[None, :], other=0.0
    )
    part = tl.sum(tile.to(tl.float32), axis=0)
    tl.atomic_add(db_ptr + c, part.to(db_ptr.dtype.element_ty), mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    db = torch.zeros(N, dtype=dy.dtype, device=dy.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 64))
    bias_gradient_kernel[grid](dy, db, M, N, dy.stride(0), dy.stride(1), BLOCK_M=16, BLOCK_N=64)
    return db
