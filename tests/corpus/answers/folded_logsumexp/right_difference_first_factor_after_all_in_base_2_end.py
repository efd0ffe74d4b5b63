# label: right
# title: the difference first, the factor after it; all in base 2 to the end

@triton.jit
def rows_kernel(X, LENGTHS, OUT, alpha, M, N, row, col, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.load(LENGTHS + i, mask=i < M, other=0).to(tl.int32)
    c = tl.abs(alpha) * 1.4426950408889634 + 1e-30
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    for j0 in range(0, N, BN):
        j = j0 + tl.arange(0, BN)
        ok = (i < M)[:, None] & (j[None, :] < n[:, None])
        x = tl.load(X + i[:, None] * row + j[None, :] * col, mask=ok, other=0.0).to(tl.float32)
        if alpha < 0:
            x = -x
        x = tl.where(ok, x, float("-inf"))
        top = tl.maximum(m, tl.max(x, 1))
        base = tl.where(top == float("-inf"), 0.0, top)
        l = l * tl.exp2((m - base) * c) + tl.sum(tl.exp2((x - base[:, None]) * c), 1)
        m = top
    lse = (m * c + tl.log2(l)) * 0.6931471805599453
    tl.store(OUT + i, lse, mask=i < M)


def by_rows(x, lengths, alpha):
    M, N = x.shape
    out = torch.empty(M, dtype=torch.float32, device=x.device)
    rows_kernel[(triton.cdiv(M, 8),)](x, lengths, out, alpha, M, N, *x.stride(), BM=8, BN=32)
    return out
