# label: wrong
# title: the minimum of what was loaded, zeros beyond the end included
# says: For a negative alpha the largest score is that of the smallest x, taken over all lanes: hidden ones hold 0, so rows of large positive x get the reference 0, and every power of two underflows.
# names: one edit; log of zero

@triton.jit
def extremes_kernel(X, LENGTHS, OUT, alpha, M, N, row, col, DOWN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.load(LENGTHS + i, mask=i < M, other=0)
    factor = alpha * 1.4426950408889634
    reference = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for first in range(0, N, BN):
        j = first + tl.arange(0, BN)
        there = j[None, :] < n[:, None]
        x = tl.load(X + i[:, None].to(tl.int64) * row + j[None, :] * col, mask=there, other=0.0).to(tl.float32)
        if DOWN:
            extreme = tl.min(x, axis=1)
        else:
            extreme = tl.max(tl.where(there, x, float("-inf")), axis=1)
        new = tl.maximum(reference, tl.where(first < n, extreme * factor, float("-inf")))
        finite = tl.where(new == float("-inf"), 0.0, new)
        powers = tl.where(there, tl.exp2(x * factor - finite[:, None]), 0.0)
        total = total * tl.exp2(reference - finite) + tl.sum(powers, axis=1)
        reference = new
    lse = tl.where(total > 0, (reference + tl.log2(total)) * 0.6931471805599453, float("-inf"))
    tl.store(OUT + i, lse, mask=i < M)


def folded(x, lengths, alpha):
    M, N = x.shape
    out = torch.empty(M, dtype=torch.float32, device=x.device)
    extremes_kernel[(triton.cdiv(M, 16),)](x, lengths, out, alpha, M, N, *x.stride(), alpha < 0, BM=16, BN=64)
    return out
