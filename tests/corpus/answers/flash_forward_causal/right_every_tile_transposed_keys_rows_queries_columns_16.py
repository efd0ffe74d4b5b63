# label: right
# title: every tile transposed: keys are rows, queries columns; 16 × 64, D padded to 64 at least

@triton.jit
def keys_first_kernel(Q, K, V, O, L, alpha, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # transposed throughout: S is (keys, queries), acc is (D, queries)
    bh = tl.program_id(0)
    i, d = tl.program_id(1) * BM + tl.arange(0, BM), tl.arange(0, BD)
    in_q = (i < M)[None, :] & (d < D)[:, None]
    qT = tl.load(Q + (bh * M + i)[None, :] * D + d[:, None], mask=in_q, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    accT = tl.zeros((BD, BM), tl.float32)
    end = tl.maximum(0, tl.minimum(N, (tl.program_id(1) + 1) * BM + N - M))
    for j0 in range(0, end, BN):
        j = j0 + tl.arange(0, BN)
        in_k = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        v = tl.load(V + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        sT = alpha * tl.dot(k, qT, input_precision="ieee")
        sT = tl.where((j < N)[:, None] & (j[:, None] <= i[None, :] + N - M), sT, float("-inf"))
        new = tl.maximum(top, tl.max(sT, 0))
        at = tl.where(new == float("-inf"), 0.0, new)
        shrink = tl.exp(top - at)
        pT = tl.exp(sT - at[None, :])
        total = total * shrink + tl.sum(pT, 0)
        accT = accT * shrink[None, :] + tl.dot(tl.trans(v), pT.to(v.dtype), input_precision="ieee")
        top = new
    accT = accT / tl.where(total == 0.0, 1.0, total)[None, :]
    tl.store(O + (bh * M + i)[None, :] * D + d[:, None], accT, mask=in_q)
    tl.store(L + bh * M + i, top + tl.log(total), mask=i < M)


def keys_first(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    grid = (B * H, triton.cdiv(M, 16))
    keys_first_kernel[grid](q, k, v, o, lse, alpha, M, k.shape[2], D, BM=16, BN=64, BD=max(64, triton.next_power_of_2(D)))
    return o, lse
