# label: wrong
# title: partials of full tiles
# says: line for t in range(M // BLOCK_M): the last, partly filled tile of rows is never visited
# names: the last, short tile left out

from torch import Tensor


@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rows = tl.arange(0, BLOCK_M).to(tl.int64)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for t in range(M // BLOCK_M):
        r = t * BLOCK_M + rows
        ok = (r < M)[:, None] & (cols < N)[None, :]
        acc += tl.load(dy_ptr + r[:, None] * dy_row + cols[None, :] * dy_col, mask=ok, other=0.0).to(tl.float32)
    tl.store(db_ptr + cols, tl.sum(acc, axis=0), mask=cols < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    bias_gradient_kernel[(triton.cdiv(N, 32),)](dy, db, M, N, *dy.stride(), BLOCK_M=16, BLOCK_N=32)
    return db
