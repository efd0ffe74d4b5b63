# label: wrong
# title: minimum over hidden lanes
# says: for alpha < 0 the line `best = ...` takes tl.min of a tile whose hidden lanes were loaded as -inf: the
#   minimum is -inf wherever a row is shorter than its tile.
# names: one edit; log of zero

from torch import Tensor


@triton.jit
def folded_logsumexp_kernel(
    x_ptr, lengths_ptr, lse_ptr, alpha, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_rows = rows < M
    length = tl.load(lengths_ptr + rows, mask=in_rows, other=0)
    row_ptrs = x_ptr + rows.to(tl.int64)[:, None] * x_row
    factor = tl.where(alpha == 0.0, 1e-30, alpha * 1.4426950408889634)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        seen = in_rows[:, None] & (cols[None, :] < length[:, None])
        x = tl.load(row_ptrs + cols[None, :] * x_col, mask=seen, other=-float("inf")).to(tl.float32)
        best = tl.where(alpha < 0.0, tl.min(x, axis=1), tl.max(x, axis=1))
        m_new = tl.maximum(m, best * factor)
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        e = tl.where(seen, tl.exp2(x * factor - shift[:, None]), 0.0)
        total = total * tl.exp2(m - shift) + tl.sum(e, axis=1)
        m = m_new
    lse = tl.where(total > 0.0, (m + tl.log2(total)) * 0.6931471805599453, -float("inf"))
    tl.store(lse_ptr + rows, lse, mask=in_rows)


def folded_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    folded_logsumexp_kernel[(triton.cdiv(M, 16),)](
        x, lengths, lse, alpha, M, N, *x.stride(), BLOCK_M=16, BLOCK_N=64
    )
    return lse
