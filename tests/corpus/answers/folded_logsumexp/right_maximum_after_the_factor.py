# label: right
# title: maximum after the factor

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
    top = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    mass = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        seen = in_rows[:, None] & (cols[None, :] < length[:, None])
        z = tl.load(row_ptrs + cols[None, :] * x_col, mask=seen, other=0.0).to(tl.float32) * c
        z = tl.where(seen, z, -float("inf"))
        higher = tl.maximum(top, tl.max(z, axis=1))
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        mass = mass * tl.exp2(top - safe) + tl.sum(tl.exp2(z - safe[:, None]), axis=1)
        top = higher
    lse = 0.6931471805599453 * (top + tl.log2(tl.where(mass == 0.0, 1.0, mass)))
    tl.store(lse_ptr + rows, lse, mask=in_rows)


def folded_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    folded_logsumexp_kernel[(triton.cdiv(M, 16),)](
        x, lengths, lse, alpha, M, N, *x.stride(), BLOCK_M=16, BLOCK_N=64
    )
    return lse
