# label: right
# title: the reciprocal, and the largest of both ends

@triton.jit
def block_kernel(X, Y, S, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)[None, :]
    ok = (i < M) & (j < N)
    x = tl.load(X + i * sm + j * sn, mask=ok, other=0).to(tl.float32)
    top = tl.maximum(tl.max(x), -tl.min(x))
    inv = tl.where(top > 0, 448.0 / top, 1.0)
    tl.store(Y + i * N + j, (x * inv).to(Y.dtype.element_ty), mask=ok)
    tl.store(S + tl.program_id(0).to(tl.int64) * tl.cdiv(N, BN) + tl.program_id(1).to(tl.int64), tl.where(top > 0, top / 448.0, 1.0))


def blocks(x, block_m, block_n):
    M, N = x.shape
    y = torch.empty(M, N, dtype=torch.float8_e4m3fn, device=x.device)
    s = torch.empty(triton.cdiv(M, block_m), triton.cdiv(N, block_n), device=x.device)
    block_kernel[s.shape](x, y, s, M, N, *x.stride(), BM=block_m, BN=block_n)
    return y, s
