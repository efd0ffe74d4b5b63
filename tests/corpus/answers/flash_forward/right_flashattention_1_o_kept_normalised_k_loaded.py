# label: right
# title: unseen: FlashAttention-1, O kept normalised, K loaded transposed, batch first in the grid

@triton.jit
def fa1(
    Q, K, V, O, LSE, softmax_scale, seqlen_q, seqlen_k, headdim,
    sQb, sQh, sQs, sQd, sKb, sKh, sKs, sKd, sVb, sVh, sVs, sVd, sOb, sOh, sOs, sOd,
    Br: tl.constexpr, Bc: tl.constexpr, d_pad: tl.constexpr,
):
    bx = tl.program_id(0).to(tl.int64)  # batch
    by = tl.program_id(1).to(tl.int64)  # head
    i = tl.program_id(2)  # which block of rows
    Q += bx * sQb + by * sQh
    K += bx * sKb + by * sKh
    V += bx * sVb + by * sVh
    O += bx * sOb + by * sOh
    LSE += (bx * tl.num_programs(1) + by) * seqlen_q

    tx = i * Br + tl.arange(0, Br)
    ty = tl.arange(0, Bc)
    td = tl.arange(0, d_pad)
    Qi = tl.load(
        Q + tx[:, None] * sQs + td[None, :] * sQd,
        mask=(tx[:, None] < seqlen_q) & (td[None, :] < headdim), other=0.0,
    )
    KjT_ptrs = K + td[:, None] * sKd + ty[None, :] * sKs
    Vj_ptrs = V + ty[:, None] * sVs + td[None, :] * sVd
    mi = tl.full([Br], float("-inf"), dtype=tl.float32)
    li = tl.full([Br], 0.0, dtype=tl.float32)
    Oi = tl.zeros([Br, d_pad], dtype=tl.float32)
    Tc = (seqlen_k + Bc - 1) // Bc
    for j in range(Tc):
        valid = j * Bc + ty < seqlen_k
        KjT = tl.load(KjT_ptrs, mask=(td[:, None] < headdim) & valid[None, :], other=0.0)
        Vj = tl.load(Vj_ptrs, mask=valid[:, None] & (td[None, :] < headdim), other=0.0)
        Sij = softmax_scale * tl.dot(Qi, KjT, input_precision="ieee")
        Sij = tl.where(valid[None, :], Sij, float("-inf"))
        mij = tl.max(Sij, 1)
        Pij = tl.exp(Sij - mij[:, None])
        lij = tl.sum(Pij, 1)
        mi_new = tl.maximum(mi, mij)
        a = tl.exp(mi - mi_new)
        b = tl.exp(mij - mi_new)
        li_new = a * li + b * lij
        PV = tl.dot(Pij.to(Vj.dtype), Vj, input_precision="ieee")
        Oi = ((li * a)[:, None] * Oi + b[:, None] * PV) / li_new[:, None]
        mi = mi_new
        li = li_new
        KjT_ptrs += Bc * sKs
        Vj_ptrs += Bc * sVs
    tl.store(
        O + tx[:, None] * sOs + td[None, :] * sOd, Oi.to(O.dtype.element_ty),
        mask=(tx[:, None] < seqlen_q) & (td[None, :] < headdim),
    )
    tl.store(LSE + tx, mi + tl.log(li), mask=tx < seqlen_q)


def flash_forward(q, k, v, alpha):
    nb, nh, N, d = q.shape
    Br, Bc = 16, 32
    O = torch.empty(nb, nh, N, d, dtype=q.dtype, device=q.device)
    LSE = torch.empty(nb, nh, N, dtype=torch.float32, device=q.device)
    grid = (nb, nh, triton.cdiv(N, Br))
    fa1[grid](
        q, k, v, O, LSE, alpha, N, k.size(2), d,
        *q.stride(), *k.stride(), *v.stride(), *O.stride(),
        Br=Br, Bc=Bc, d_pad=max(16, triton.next_power_of_2(d)),
    )
    return O, LSE
