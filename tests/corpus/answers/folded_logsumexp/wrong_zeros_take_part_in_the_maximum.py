# label: wrong
# title: zeros take part in the maximum
# says: Columns that do not count are loaded as 0 and enter the maximum; beside it rows far below 0 vanish.
# names: zeros in the maximum

@triton.jit
def zeros_kernel(X, LENGTHS, OUT, alpha, M, N, row, col, DOWN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.load(LENGTHS + i, mask=i < M, other=0)
    factor = alpha * 1.4426950408889634
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for first in range(0, N, BN):
        j = first + tl.arange(0, BN)
        there = j[None, :] < n[:, None]
        x = tl.load(X + i[:, None].to(tl.int64) * row + j[None, :] * col, mask=there, other=0.0).to(tl.float32)
        x = -x if DOWN else x
        new = tl.maximum(top, tl.max(x, axis=1))
        powers = tl.where(there, tl.exp2((x - new[:, None]) * factor), 0.0)
        before = tl.where(top == float("-inf"), 0.0, tl.exp2((top - new) * factor))
        total = total * before + tl.sum(powers, axis=1)
        top = new
    tl.store(OUT + i, (top * factor + tl.log2(total)) * 0.6931471805599453, mask=i < M)


def zeros(x, lengths, alpha):
    M, N = x.shape
    out = torch.empty(M, dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, 16),)
    zeros_kernel[grid](x, lengths, out, abs(alpha), M, N, *x.stride(), DOWN=alpha < 0, BM=16, BN=64)
    return out
