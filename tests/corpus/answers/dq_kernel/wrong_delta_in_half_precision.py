# label: wrong
# title: unseen: delta in half precision
# says: delta is summed from products in half precision and rounded to it; dP - delta loses what matters.
# names: precision

@triton.jit
def dq_flat_kernel(
    Q, K, V, dO, LSE, DELTA, dQ, scale, M, N, D, n_blocks,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    bh = (pid // n_blocks).to(tl.int64)
    start_m = (pid % n_blocks) * BLOCK_M
    rm = start_m + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, BLOCK_D)
    offs = bh * M * D + rm[:, None] * D + rd[None, :]
    mask = (rm[:, None] < M) & (rd[None, :] < D)
    q = tl.load(Q + offs, mask=mask, other=0.0).to(tl.float32)
    do = tl.load(dO + offs, mask=mask, other=0.0).to(tl.float32)
    lse = tl.load(LSE + bh * M + rm, mask=rm < M, other=float("inf"))
    delta = tl.load(DELTA + bh * M + rm, mask=rm < M, other=0.0).to(tl.float32)
    dq = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)
    for start_n in range(0, N, BLOCK_N):
        rn = start_n + tl.arange(0, BLOCK_N)
        kv_offs = bh * N * D + rn[:, None] * D + rd[None, :]
        kv_mask = (rn[:, None] < N) & (rd[None, :] < D)
        k = tl.load(K + kv_offs, mask=kv_mask, other=0.0).to(tl.float32)
        v = tl.load(V + kv_offs, mask=kv_mask, other=0.0).to(tl.float32)
        logits = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        logits = tl.where(rn[None, :] < N, logits, float("-inf"))
        probs = tl.exp(logits - lse[:, None])
        dprobs = tl.dot(do, tl.trans(v), input_precision="ieee")
        dlogits = probs * (dprobs - delta[:, None]) * scale
        dq += tl.dot(dlogits, k, input_precision="ieee")
    tl.store(dQ + offs, dq.to(dQ.dtype.element_ty), mask=mask)


def dq_kernel(q, k, v, o, do, lse, alpha):
    B, H, M, D = q.shape
    N = k.shape[2]
    q, k, v, do, lse = [t.contiguous() for t in (q, k, v, do, lse)]
    dq = torch.empty_like(q)
    delta = (o * do).sum(-1)
    n_blocks = triton.cdiv(M, 32)
    dq_flat_kernel[(B * H * n_blocks,)](
        q, k, v, do, lse, delta, dq, alpha, M, N, D, n_blocks,
        BLOCK_M=32, BLOCK_N=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
