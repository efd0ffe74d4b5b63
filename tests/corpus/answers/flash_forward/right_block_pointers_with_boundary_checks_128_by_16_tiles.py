# label: right
# title: block pointers with boundary checks, 128 × 16 tiles

@triton.jit
def block_pointer_kernel(
    Q, K, V, O, L, scale, M, N, D: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(0)
    Qb = tl.make_block_ptr(Q + bh * M * D, (M, D), (D, 1), (tl.program_id(1) * BM, 0), (BM, BD), (1, 0))
    Kb = tl.make_block_ptr(K + bh * N * D, (D, N), (1, D), (0, 0), (BD, BN), (0, 1))
    Vb = tl.make_block_ptr(V + bh * N * D, (N, D), (D, 1), (0, 0), (BN, BD), (1, 0))
    Ob = tl.make_block_ptr(O + bh * M * D, (M, D), (D, 1), (tl.program_id(1) * BM, 0), (BM, BD), (1, 0))
    q = tl.load(Qb, boundary_check=(0, 1), padding_option="zero")
    m = tl.full([BM], float("-inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, BD], tl.float32)
    for n in range(0, N, BN):
        k = tl.load(Kb, boundary_check=(0, 1), padding_option="zero")
        v = tl.load(Vb, boundary_check=(0, 1), padding_option="zero")
        s = tl.dot(q, k, input_precision="ieee") * scale
        s += tl.where(n + tl.arange(0, BN) < N, 0.0, float("-inf"))[None, :]
        m_new = tl.maximum(m, tl.max(s, 1))
        e = tl.exp(s - m_new[:, None])
        c = tl.exp(m - m_new)
        l = c * l + tl.sum(e, 1)
        acc = c[:, None] * acc + tl.dot(e.to(v.dtype), v, input_precision="ieee")
        m = m_new
        Kb = tl.advance(Kb, (0, BN))
        Vb = tl.advance(Vb, (BN, 0))
    tl.store(Ob, (acc / l[:, None]).to(O.dtype.element_ty), boundary_check=(0, 1))
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    tl.store(L + bh * M + rows, m + tl.log(l), mask=rows < M)


def with_block_pointers(q, k, v, alpha):
    q, k, v = (t.contiguous() for t in (q, k, v))
    B, H, M, D = q.shape
    N = k.shape[-2]
    out, lse = torch.empty_like(q), torch.empty(B, H, M)
    block_pointer_kernel[(B * H, triton.cdiv(M, 128))](
        q, k, v, out, lse, alpha, M, N, D, BM=128, BN=16, BD=max(16, triton.next_power_of_2(D))
    )
    return out, lse
