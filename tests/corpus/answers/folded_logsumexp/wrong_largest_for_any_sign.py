# label: wrong
# title: largest for any sign
# says: line m_new = tl.maximum(m_i, tl.max(...) * c): for a negative alpha the largest x gives the smallest
#   exponent, the sum overflows
# names: the largest product for a negative alpha

from torch import Tensor


@triton.jit
def folded_logsumexp_kernel(
    x_ptr, lengths_ptr, lse_ptr, alpha, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_rows = rows < M
    length = tl.load(lengths_ptr + rows, mask=in_rows, other=0)
    row_ptrs = x_ptr + rows.to(tl.int64)[:, None] * x_row
    c = alpha * 1.4426950408889634
    m_i = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        seen = in_rows[:, None] & (cols[None, :] < length[:, None])
        x = tl.load(row_ptrs + cols[None, :] * x_col, mask=seen, other=0.0).to(tl.float32)
        some = start < length
        best = tl.max(tl.where(seen, x, -1e30), axis=1)
        m_new = tl.where(some, tl.maximum(m_i, best * c), m_i)
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        p = tl.where(seen, tl.exp2(x * c - shift[:, None]), 0.0)
        l_i = l_i * tl.exp2(m_i - shift) + tl.sum(p, axis=1)
        m_i = m_new
    lse = tl.where(l_i == 0.0, -float("inf"), m_i * 0.6931471805599453 + tl.log(l_i))
    tl.store(lse_ptr + rows, lse, mask=in_rows)


def folded_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    folded_logsumexp_kernel[(triton.cdiv(M, 16),)](
        x, lengths, lse, alpha, M, N, *x.stride(), BLOCK_M=16, BLOCK_N=64
    )
    return lse
