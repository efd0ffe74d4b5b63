# label: right
# title: two passes over the keys, 32 × 16, D padded to 32 at least

@triton.jit
def two_pass_kernel(Q, K, V, O, L, alpha, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # first pass: the maximum and the sum of each row; second pass: S again, and P V
    bh = tl.program_id(0)
    i, d = tl.program_id(1) * BM + tl.arange(0, BM), tl.arange(0, BD)
    in_q = (i < M)[:, None] & (d < D)[None, :]
    q = tl.load(Q + (bh * M + i)[:, None] * D + d[None, :], mask=in_q, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    end = tl.maximum(0, tl.minimum(N, (tl.program_id(1) + 1) * BM + N - M))
    for j0 in range(0, end, BN):
        j = j0 + tl.arange(0, BN)
        k = tl.load(K + (bh * N + j)[None, :] * D + d[:, None], mask=(j < N)[None, :] & (d < D)[:, None], other=0.0)
        s = alpha * tl.dot(q, k, input_precision="ieee")
        s = tl.where((j < N)[None, :] & (j[None, :] <= i[:, None] + N - M), s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        at = tl.where(new == float("-inf"), 0.0, new)
        total = total * tl.exp(top - at) + tl.sum(tl.exp(s - at[:, None]), 1)
        top = new
    lse = top + tl.log(total)
    at = tl.where(lse == float("-inf"), 0.0, lse)
    acc = tl.zeros((BM, BD), tl.float32)
    for j0 in range(0, end, BN):
        j = j0 + tl.arange(0, BN)
        in_k = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + (bh * N + j)[None, :] * D + d[:, None], mask=(j < N)[None, :] & (d < D)[:, None], other=0.0)
        v = tl.load(V + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        s = alpha * tl.dot(q, k, input_precision="ieee")
        s = tl.where((j < N)[None, :] & (j[None, :] <= i[:, None] + N - M), s, float("-inf"))
        acc += tl.dot(tl.exp(s - at[:, None]).to(v.dtype), v, input_precision="ieee")
    tl.store(O + (bh * M + i)[:, None] * D + d[None, :], acc, mask=in_q)
    tl.store(L + bh * M + i, lse, mask=i < M)


def two_passes(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    grid = (B * H, triton.cdiv(M, 32))
    two_pass_kernel[grid](q, k, v, o, lse, alpha, M, k.shape[2], D, BM=32, BN=16, BD=max(32, triton.next_power_of_2(D)))
    return o, lse
