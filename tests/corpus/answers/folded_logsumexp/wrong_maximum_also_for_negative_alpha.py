# label: wrong
# title: maximum also for negative alpha
# says: `m_new = tl.maximum(m, tl.max(x, 1))` keeps the largest x also where alpha is negative; there c·(x −
#   m) is positive and overflows, and the shift is the smallest score
# names: the largest product for a negative alpha

from torch import Tensor


@triton.jit
def folded_logsumexp_kernel(
    x_ptr, lengths_ptr, lse_ptr, alpha, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    # reads BLOCK_M rows of x, tile by tile; writes as many numbers
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_rows = rows < M
    length = tl.load(lengths_ptr + rows, mask=in_rows, other=0)
    row_ptrs = x_ptr + rows.to(tl.int64)[:, None] * x_row
    c = alpha * 1.4426950408889634
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        j = start + tl.arange(0, BLOCK_N)
        inside = in_rows[:, None] & (j[None, :] < length[:, None])
        x = tl.load(row_ptrs + j[None, :] * x_col, mask=inside, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, 1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        e = tl.where(inside, tl.exp2((x - base[:, None]) * c), 0.0)
        back = tl.where(m == -float("inf"), 0.0, tl.exp2((m - base) * c))
        l = l * back + tl.sum(e, 1)
        m = m_new
    lse = tl.where(l == 0.0, -float("inf"), m * alpha + tl.log(l))
    tl.store(lse_ptr + rows, lse, mask=in_rows)


def folded_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    """log Σ_j exp(alpha x_ij) over j < lengths[i], in fp32: [M, N] and [M] → [M]; −inf for a length of 0."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK_M, BLOCK_N = 16, 64
    folded_logsumexp_kernel[(triton.cdiv(M, BLOCK_M),)](
        x, lengths, lse, alpha, M, N, *x.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return lse
