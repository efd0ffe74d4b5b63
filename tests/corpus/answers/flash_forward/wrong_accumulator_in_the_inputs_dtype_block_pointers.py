# label: wrong
# title: accumulator in the input's dtype, block pointers
# says: `o_acc = tl.zeros(..., q_ptr.dtype.element_ty)` and the `.to(...)` after each step: the accumulator is
#   carried in fp16. With V around 1e4 in fp16 and many keys acc is l times as large as O and overflows; it
#   has to stay in fp32.
# names: accumulator in half precision

@triton.jit
def attn_fwd(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sob, soh, som, sod,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    pid = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    ib = bh // H
    ih = bh % H
    ty = q_ptr.dtype.element_ty
    Qb = tl.make_block_ptr(q_ptr + ib * sqb + ih * sqh, (S_q, D), (sqm, sqd), (pid * BM, 0), (BM, BD), (1, 0))
    Kb = tl.make_block_ptr(k_ptr + ib * skb + ih * skh, (S_k, D), (skn, skd), (0, 0), (BN, BD), (1, 0))
    Vb = tl.make_block_ptr(v_ptr + ib * svb + ih * svh, (S_k, D), (svn, svd), (0, 0), (BN, BD), (1, 0))
    Ob = tl.make_block_ptr(o_ptr + ib * sob + ih * soh, (S_q, D), (som, sod), (pid * BM, 0), (BM, BD), (1, 0))
    q = tl.load(Qb, boundary_check=(0, 1), padding_option="zero")
    m = tl.full([BM], float("-inf"), dtype=tl.float32)
    l = tl.zeros([BM], dtype=tl.float32)
    o_acc = tl.zeros([BM, BD], dtype=ty)
    offs_n = tl.arange(0, BN)
    for j in range(0, S_k, BN):
        k = tl.load(Kb, boundary_check=(0, 1), padding_option="zero")
        v = tl.load(Vb, boundary_check=(0, 1), padding_option="zero")
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = tl.where((j + offs_n)[None, :] < S_k, s, float("-inf"))
        m2 = tl.maximum(m, tl.max(s, 1))
        c = tl.exp(m - m2)
        p = tl.exp(s - m2[:, None])
        l = l * c + tl.sum(p, 1)
        o_acc = (o_acc * c[:, None] + tl.dot(p.to(ty), v, input_precision="ieee")).to(ty)
        m = m2
        Kb = tl.advance(Kb, (BN, 0))
        Vb = tl.advance(Vb, (BN, 0))
    out = o_acc.to(tl.float32) / l[:, None]
    tl.store(Ob, out.to(ty), boundary_check=(0, 1))
    offs_m = pid * BM + tl.arange(0, BM)
    tl.store(lse_ptr + bh * S_q + offs_m, m + tl.log(l), mask=offs_m < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLK = block or 32
    attn_fwd[(triton.cdiv(S_q, BLK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BM=BLK, BN=BLK, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
