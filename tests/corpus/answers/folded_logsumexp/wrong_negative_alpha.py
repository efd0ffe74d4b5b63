# label: wrong
# title: negative alpha
# says: the maximum is that of x, and hidden columns are −inf before the factor `c`: for alpha < 0 the maximum
#   is the wrong end and −inf · c is +inf.
# names: −∞ meets alpha

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
    best = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for n in range(0, N, BLOCK_N):
        j = n + tl.arange(0, BLOCK_N)
        ok = in_rows[:, None] & (j[None, :] < length[:, None])
        x = tl.load(row_ptrs + j[None, :] * x_col, mask=ok, other=float("-inf")).to(tl.float32)
        new = tl.maximum(best, tl.max(x, axis=1))
        unit = tl.where(new == float("-inf"), 0.0, new)
        total = total * tl.exp2((best - unit) * c) + tl.sum(tl.exp2((x - unit[:, None]) * c), axis=1)
        best = new
    lse = tl.where(total == 0.0, float("-inf"), best * alpha + tl.log(total))
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
