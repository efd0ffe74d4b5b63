# label: right
# title: the logsumexp in a first pass, P = exp(S − LSE) in a second

@triton.jit
def two_pass_causal_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, a, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # the logsumexp first, then P = exp(S − LSE) as the backward pass has it: nothing to divide by
    bh = tl.program_id(0)
    r, d = tl.program_id(1) * BM + tl.arange(0, BM), tl.arange(0, BD)
    q = tl.load(q_ptr + (bh * M + r)[:, None] * D + d, mask=(r < M)[:, None] & (d < D), other=0.0)
    end = tl.minimum(N, (tl.program_id(1) + 1) * BM + N - M)
    lse = tl.full((BM,), -float("inf"), tl.float32)
    for j in range(0, end, BN):
        c = j + tl.arange(0, BN)
        k = tl.load(k_ptr + (bh * N + c)[:, None] * D + d, mask=(c < N)[:, None] & (d < D), other=0.0)
        s = a * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((c[None, :] <= r[:, None] + N - M) & (c < N)[None, :], s, -float("inf"))
        top = tl.maximum(lse, tl.max(s, 1))
        top = tl.where(top == -float("inf"), 0.0, top)
        lse = top + tl.log(tl.exp(lse - top) + tl.sum(tl.exp(s - top[:, None]), 1))
    finite = tl.where(lse == -float("inf"), 0.0, lse)
    o = tl.zeros((BM, BD), tl.float32)
    for j in range(0, end, BN):
        c = j + tl.arange(0, BN)
        ok = (c < N)[:, None] & (d < D)
        k = tl.load(k_ptr + (bh * N + c)[:, None] * D + d, mask=ok, other=0.0)
        v = tl.load(v_ptr + (bh * N + c)[:, None] * D + d, mask=ok, other=0.0)
        s = a * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = (c[None, :] <= r[:, None] + N - M) & (c < N)[None, :]
        p = tl.exp(tl.where(seen, s - finite[:, None], -float("inf")))
        o += tl.dot(p.to(v.dtype), v, input_precision="ieee")
    tl.store(o_ptr + (bh * M + r)[:, None] * D + d, o, mask=(r < M)[:, None] & (d < D))
    tl.store(lse_ptr + bh * M + r, lse, mask=r < M)


def lse_first(q, k, v, alpha):
    q, k, v = (t.contiguous() for t in (q, k, v))
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    grid = (B * H, triton.cdiv(M, 32))
    BD = max(16, triton.next_power_of_2(D))
    two_pass_causal_kernel[grid](q, k, v, o, lse, alpha, M, k.shape[2], D, BM=32, BN=32, BD=BD)
    return o, lse
