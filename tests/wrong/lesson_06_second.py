"""Lessons 06 to 08: a second set of answers, written by somebody who had not seen the declared mistakes."""

from __future__ import annotations

from tests.wrong import edited, right, written, wrong

# ---------------------------------------------------------------- lesson 06: bases

TUTORIAL_BLOCKS = """
@triton.jit
def _attn_fwd(
    Q, K, V, sm_scale, L, Out,
    stride_qz, stride_qh, stride_qm, stride_qk, stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk, stride_oz, stride_oh, stride_om, stride_ok,
    H, N_CTX, KV_CTX, HEAD_DIM,
    CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_DMODEL: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = (off_hz // H).to(tl.int64)
    off_h = (off_hz % H).to(tl.int64)
    Q_block_ptr = tl.make_block_ptr(
        base=Q + off_z * stride_qz + off_h * stride_qh, shape=(N_CTX, HEAD_DIM),
        strides=(stride_qm, stride_qk), offsets=(start_m * BLOCK_M, 0),
        block_shape=(BLOCK_M, BLOCK_DMODEL), order=(1, 0),
    )
    K_block_ptr = tl.make_block_ptr(
        base=K + off_z * stride_kz + off_h * stride_kh, shape=(HEAD_DIM, KV_CTX),
        strides=(stride_kk, stride_kn), offsets=(0, 0),
        block_shape=(BLOCK_DMODEL, BLOCK_N), order=(0, 1),
    )
    V_block_ptr = tl.make_block_ptr(
        base=V + off_z * stride_vz + off_h * stride_vh, shape=(KV_CTX, HEAD_DIM),
        strides=(stride_vn, stride_vk), offsets=(0, 0),
        block_shape=(BLOCK_N, BLOCK_DMODEL), order=(1, 0),
    )
    O_block_ptr = tl.make_block_ptr(
        base=Out + off_z * stride_oz + off_h * stride_oh, shape=(N_CTX, HEAD_DIM),
        strides=(stride_om, stride_ok), offsets=(start_m * BLOCK_M, 0),
        block_shape=(BLOCK_M, BLOCK_DMODEL), order=(1, 0),
    )
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, BLOCK_DMODEL], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504  # 1/log(2)
    q = tl.load(Q_block_ptr, boundary_check=(0, 1), padding_option="zero")
    hi = KV_CTX
    if CAUSAL:
        hi = tl.minimum(KV_CTX, (start_m + 1) * BLOCK_M + KV_CTX - N_CTX)
    for start_n in range(0, hi, BLOCK_N):
        k = tl.load(K_block_ptr, boundary_check=(0, 1), padding_option="zero")
        qk = tl.dot(q, k, input_precision="ieee") * qk_scale
        mask = (start_n + offs_n)[None, :] < KV_CTX
        if CAUSAL:
            mask = mask & (offs_m[:, None] + (KV_CTX - N_CTX) >= (start_n + offs_n)[None, :])
        qk = tl.where(mask, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        m_use = tl.where(m_ij == float("-inf"), 0.0, m_ij)
        p = tl.math.exp2(qk - m_use[:, None])
        l_ij = tl.sum(p, 1)
        # -- update m_i and l_i
        alpha = tl.math.exp2(m_i - m_use)
        l_i = l_i * alpha + l_ij
        # -- update output accumulator --
        acc = acc * alpha[:, None]
        v = tl.load(V_block_ptr, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_ij
        V_block_ptr = tl.advance(V_block_ptr, (BLOCK_N, 0))
        K_block_ptr = tl.advance(K_block_ptr, (0, BLOCK_N))
    # epilogue
    lse = (m_i + tl.math.log2(l_i)) * 0.6931471805599453
    acc = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    tl.store(L + off_hz.to(tl.int64) * N_CTX + offs_m, lse, mask=offs_m < N_CTX)
    tl.store(O_block_ptr, acc.to(Out.type.element_ty), boundary_check=(0, 1))


def _run(q, k, v, sm_scale, causal):
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    L = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    BLOCK_M, BLOCK_N = 64, 32
    grid = (triton.cdiv(q.shape[2], BLOCK_M), q.shape[0] * q.shape[1])
    _attn_fwd[grid](
        q, k, v, sm_scale, L, o,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        q.shape[1], q.shape[2], k.shape[2], q.shape[3],
        CAUSAL=causal, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
        BLOCK_DMODEL=max(16, triton.next_power_of_2(q.shape[3])),
    )
    return o, L


def flash_forward(q, k, v, alpha):
    return _run(q, k, v, alpha, False)


def flash_forward_causal(q, k, v, alpha):
    return _run(q, k, v, alpha, True)
"""

FIRST_FLASH = """
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
"""

FLATTENED = """
@triton.jit
def attention_forward_kernel(
    query, key, value, output, logsumexp, scale, num_queries, num_keys, head_dim, num_blocks,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # One program handles one block of queries of one (batch, head) pair
    pid = tl.program_id(0)
    head = (pid // num_blocks).to(tl.int64)
    block = pid % num_blocks

    q_idx = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d_idx = tl.arange(0, BLOCK_D)
    q_mask = (q_idx < num_queries)[:, None] & (d_idx < head_dim)[None, :]
    q_offsets = head * num_queries * head_dim + q_idx[:, None] * head_dim + d_idx[None, :]
    q_block = tl.load(query + q_offsets, mask=q_mask, other=0.0).to(tl.float32) * scale

    running_max = tl.full((BLOCK_Q,), -float("inf"), dtype=tl.float32)
    running_sum = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    accumulator = tl.zeros((BLOCK_Q, BLOCK_D), dtype=tl.float32)

    for k_start in tl.range(0, num_keys, BLOCK_K):
        k_idx = k_start + tl.arange(0, BLOCK_K)
        k_valid = k_idx < num_keys
        kv_mask = k_valid[:, None] & (d_idx < head_dim)[None, :]
        kv_offsets = head * num_keys * head_dim + k_idx[:, None] * head_dim + d_idx[None, :]
        k_block = tl.load(key + kv_offsets, mask=kv_mask, other=0.0).to(tl.float32)
        v_block = tl.load(value + kv_offsets, mask=kv_mask, other=0.0).to(tl.float32)

        # Attention scores, with invalid keys at -inf
        scores = tl.dot(q_block, tl.trans(k_block), input_precision="ieee")
        scores += tl.where(k_valid, 0.0, -float("inf"))[None, :]

        # Online softmax update
        new_max = tl.maximum(running_max, tl.max(scores, axis=1))
        correction = tl.exp(running_max - new_max)
        weights = tl.exp(scores - new_max[:, None])
        running_sum = running_sum * correction + tl.sum(weights, axis=1)
        accumulator *= correction[:, None]
        accumulator += tl.dot(weights, v_block, input_precision="ieee")
        running_max = new_max

    # Final normalization
    accumulator = accumulator / running_sum[:, None]
    tl.store(output + q_offsets, accumulator.to(output.dtype.element_ty), mask=q_mask)
    lse = running_max + tl.log(running_sum)
    tl.store(logsumexp + head * num_queries + q_idx, lse, mask=q_idx < num_queries)


def flash_forward(q, k, v, alpha):
    batch, heads, num_queries, head_dim = q.shape
    num_keys = k.shape[2]
    q_flat = q.contiguous().view(batch * heads, num_queries, head_dim)
    k_flat = k.contiguous().view(batch * heads, num_keys, head_dim)
    v_flat = v.contiguous().view(batch * heads, num_keys, head_dim)
    output = torch.empty_like(q_flat)
    lse = torch.empty(batch * heads, num_queries, device=q.device, dtype=torch.float32)
    num_blocks = triton.cdiv(num_queries, 32)
    scale = alpha
    attention_forward_kernel[(num_blocks * batch * heads,)](
        q_flat, k_flat, v_flat, output, lse, scale, num_queries, num_keys, head_dim, num_blocks,
        BLOCK_Q=32, BLOCK_K=16, BLOCK_D=max(16, triton.next_power_of_2(head_dim)),
    )
    return output.view(batch, heads, num_queries, head_dim), lse.view(batch, heads, num_queries)
"""

TWO_PHASES = """
@triton.jit
def scan_keys(
    acc, l, m, q, K, V, lo, hi, i, off, Sk, D, skn, skd, svn, svd, scale,
    DIAGONAL: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for j0 in range(lo, hi, BN):
        j = j0 + tl.arange(0, BN)
        ok = (j < Sk)[:, None] & (d < D)[None, :]
        k = tl.load(K + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
        v = tl.load(V + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
        x = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if DIAGONAL:
            x = tl.where((j < Sk)[None, :] & (j[None, :] <= i[:, None] + off), x, float("-inf"))
        top = tl.maximum(m, tl.max(x, 1))
        safe = tl.where(top == float("-inf"), 0.0, top)
        w = tl.exp(x - safe[:, None])
        c = tl.exp(m - safe)
        l = c * l + tl.sum(w, 1)
        acc = c[:, None] * acc + tl.dot(w.to(v.dtype), v, input_precision="ieee")
        m = top
    return acc, l, m


@triton.jit
def fwd_two_phases(
    Q, K, V, O, LSE, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sob, soh, som, sod,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i0 = tl.program_id(0) * BM
    i = i0 + tl.arange(0, BM)
    d = tl.arange(0, BD)
    inside = (i < Sq)[:, None] & (d < D)[None, :]
    q = tl.load(Q + b * sqb + h * sqh + i[:, None] * sqm + d[None, :] * sqd, mask=inside, other=0.0)
    K += b * skb + h * skh
    V += b * svb + h * svh
    off = Sk - Sq
    whole = tl.maximum(i0 + off + 1, 0) // BN * BN  # tiles that every query of the block sees
    end = tl.minimum(Sk, i0 + BM + off)
    acc = tl.zeros([BM, BD], tl.float32)
    l = tl.zeros([BM], tl.float32)
    m = tl.full([BM], float("-inf"), tl.float32)
    acc, l, m = scan_keys(
        acc, l, m, q, K, V, 0, whole, i, off, Sk, D, skn, skd, svn, svd, scale, False, BN, BD
    )
    acc, l, m = scan_keys(
        acc, l, m, q, K, V, whole, end, i, off, Sk, D, skn, skd, svn, svd, scale, True, BN, BD
    )
    out = acc / tl.where(l > 0, l, 1.0)[:, None]
    tl.store(
        O + b * sob + h * soh + i[:, None] * som + d[None, :] * sod, out.to(O.dtype.element_ty), mask=inside
    )
    tl.store(LSE + bh * Sq + i, m + tl.log(l), mask=i < Sq)


def flash_forward_causal(q, k, v, alpha):
    B, H, Sq, D = q.shape
    o = torch.empty((B, H, Sq, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, Sq), dtype=torch.float32, device=q.device)
    fwd_two_phases[(triton.cdiv(Sq, 32), B * H)](
        q, k, v, o, lse, alpha, H, Sq, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
"""

RIGHT_TO_LEFT = """
@triton.jit
def backwards_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, heads, nq, nk, dim,
    q0, q1, q2, q3, k0, k1, k2, k3, v0, v1, v2, v3, o0, o1, o2, o3,
    TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    block = tl.program_id(1)
    z = (tl.program_id(0) // heads).to(tl.int64)
    y = (tl.program_id(0) % heads).to(tl.int64)
    qi = block * TQ + tl.arange(0, TQ)
    lane = tl.arange(0, TK)
    e = tl.arange(0, TD)
    q_here = (qi[:, None] < nq) & (e[None, :] < dim)
    q = tl.load(q_ptr + z * q0 + y * q1 + qi[:, None] * q2 + e[None, :] * q3, mask=q_here, other=0.0)
    best = tl.full([TQ], float("-inf"), tl.float32)
    total = tl.zeros([TQ], tl.float32)
    mix = tl.zeros([TQ, TD], tl.float32)
    reach = nk - nq + qi  # the last key that each query sees
    stop = tl.minimum(nk, nk - nq + (block + 1) * TQ)
    tiles = (tl.maximum(stop, 0) + TK - 1) // TK
    for t in range(tiles):
        kj = (tiles - 1 - t) * TK + lane
        kv_here = (kj[:, None] < nk) & (e[None, :] < dim)
        k = tl.load(k_ptr + z * k0 + y * k1 + kj[:, None] * k2 + e[None, :] * k3, mask=kv_here, other=0.0)
        v = tl.load(v_ptr + z * v0 + y * v1 + kj[:, None] * v2 + e[None, :] * v3, mask=kv_here, other=0.0)
        score = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        score = tl.where((kj[None, :] <= reach[:, None]) & (kj[None, :] < nk), score, float("-inf"))
        better = tl.maximum(best, tl.max(score, 1))
        origin = tl.where(better == float("-inf"), 0.0, better)
        fade = tl.exp(best - origin)
        share = tl.exp(score - origin[:, None])
        total = total * fade + tl.sum(share, 1)
        mix = mix * fade[:, None] + tl.dot(share.to(v.dtype), v, input_precision="ieee")
        best = better
    result = mix / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(
        o_ptr + z * o0 + y * o1 + qi[:, None] * o2 + e[None, :] * o3,
        result.to(o_ptr.dtype.element_ty), mask=q_here,
    )
    tl.store(lse_ptr + tl.program_id(0).to(tl.int64) * nq + qi, best + tl.log(total), mask=qi < nq)


def flash_forward_causal(q, k, v, alpha):
    batch, heads, nq, dim = q.shape
    o = q.new_empty(q.shape)
    lse = q.new_empty((batch, heads, nq), dtype=torch.float32)
    backwards_kernel[(batch * heads, triton.cdiv(nq, 32))](
        q, k, v, o, lse, alpha, heads, nq, k.shape[-2], dim,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        TQ=32, TK=16, TD=max(16, triton.next_power_of_2(dim)),
    )
    return o, lse
"""

IN_THE_NOTEBOOK = """
@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q

    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    d_ok = d[None, :] < D
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=(rows[:, None] < S_q) & d_ok, other=0.0
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    n_tiles = tl.cdiv(tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q), BLOCK_K)
    for t in range(n_tiles):
        cols = t * BLOCK_K + keys
        kv_ok = (cols[:, None] < S_k) & d_ok
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=kv_ok, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        hidden = (cols[None, :] > rows[:, None] + (S_k - S_q)) | (cols[None, :] >= S_k)
        s = tl.where(hidden, -float("inf"), s)
        m_old = m
        m = tl.maximum(m_old, tl.max(s, axis=1))
        m_safe = tl.where(m == -float("inf"), 0.0, m)
        r = tl.exp(m_old - m_safe)
        p = tl.exp(s - m_safe[:, None])
        l = r * l + tl.sum(p, axis=1)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=kv_ok, other=0.0)
        acc = r[:, None] * acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    l_safe = tl.where(l == 0.0, 1.0, l)
    o = acc / l_safe[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
        o.to(o_ptr.dtype.element_ty), mask=(rows[:, None] < S_q) & d_ok,
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


def flash_forward_causal(q, k, v, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_causal_kernel[(triton.cdiv(S_q, 32), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
    )
    return o, lse
"""

# ---------------------------------------------------------------- lesson 07: bases

DQ_BY_THE_NOTEBOOK = """
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q

    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    mine = (rows < S_q)[:, None] & (d < D)[None, :]
    Qb = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0)
    dOb = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mine, other=0.0)
    L = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    Dl = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(S_k, BLOCK_K)):
        cols = t * BLOCK_K + keys
        theirs = (cols < S_k)[:, None] & (d < D)[None, :]
        Kb = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=theirs, other=0.0)
        Vb = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=theirs, other=0.0)
        S = alpha * tl.dot(Qb, tl.trans(Kb), input_precision="ieee")
        S = tl.where((cols < S_k)[None, :], S, -float("inf"))
        P = tl.exp(S - L)
        dP = tl.dot(dOb, tl.trans(Vb), input_precision="ieee")
        dS = P * (dP - Dl)
        grad = tl.dot(dS.to(Kb.dtype), Kb, grad, input_precision="ieee")
    grad = grad * alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, grad.to(dq_ptr.dtype.element_ty), mask=mine
    )


def dq_kernel(q, k, v, o, do, lse, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_dq_kernel[(triton.cdiv(S_q, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
    )
    return dq
"""

_changed = DQ_BY_THE_NOTEBOOK
for _old, _new in (
    (
        "    grad = tl.zeros(",
        '    L = tl.where(L == -float("inf"), float("inf"), L)\n'
        "    limit = rows[:, None] + (S_k - S_q)\n"
        "    stop = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)\n"
        "    grad = tl.zeros(",
    ),
    ("range(0, tl.cdiv(S_k, BLOCK_K))", "range(0, tl.cdiv(stop, BLOCK_K))"),
    (
        "S = tl.where((cols < S_k)[None, :], S,",
        "S = tl.where((cols < S_k)[None, :] & (cols[None, :] <= limit), S,",
    ),
    ("def dq_kernel(", "def dq_kernel_causal("),
):
    assert _changed.count(_old) == 1
    _changed = _changed.replace(_old, _new)
DQ_CAUSAL_BY_THE_NOTEBOOK = _changed

DQ_BASE_2 = """
RCP_LN2 = 1.4426950408889634  # = 1.0 / ln(2)


@triton.jit
def _attn_bwd_dq(
    Q, K, V, DO, M, Delta, DQ, sm_scale, qk_scale,
    stride_qz, stride_qh, stride_qm, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_om, stride_od,
    stride_gz, stride_gh, stride_gm, stride_gd,
    N_Q, N_KV, HEAD_DIM,
    CAUSAL: tl.constexpr, BLOCK_M2: tl.constexpr, BLOCK_N2: tl.constexpr, BLOCK_DH: tl.constexpr,
):
    pid = tl.program_id(0)
    off_h = tl.program_id(1).to(tl.int64)
    off_z = tl.program_id(2).to(tl.int64)
    off_chz = (off_z * tl.num_programs(1) + off_h) * N_Q
    start_m = pid * BLOCK_M2
    offs_m = start_m + tl.arange(0, BLOCK_M2)
    offs_k = tl.arange(0, BLOCK_DH)
    m_mask = (offs_m[:, None] < N_Q) & (offs_k[None, :] < HEAD_DIM)
    Q += off_z * stride_qz + off_h * stride_qh
    q_ptrs = Q + offs_m[:, None] * stride_qm + offs_k[None, :] * stride_qd
    DO += off_z * stride_oz + off_h * stride_oh
    do_ptrs = DO + offs_m[:, None] * stride_om + offs_k[None, :] * stride_od
    q = tl.load(q_ptrs, mask=m_mask, other=0.0)
    do = tl.load(do_ptrs, mask=m_mask, other=0.0)
    m = tl.load(M + off_chz + offs_m, mask=offs_m < N_Q, other=float("inf"))
    m = m[:, None]
    Di = tl.load(Delta + off_chz + offs_m, mask=offs_m < N_Q, other=0.0)
    dq = tl.zeros([BLOCK_M2, BLOCK_DH], dtype=tl.float32)
    offs_n = tl.arange(0, BLOCK_N2)
    K += off_z * stride_kz + off_h * stride_kh
    kT_ptrs = K + offs_n[None, :] * stride_kn + offs_k[:, None] * stride_kd
    V += off_z * stride_vz + off_h * stride_vh
    vT_ptrs = V + offs_n[None, :] * stride_vn + offs_k[:, None] * stride_vd
    end_n = N_KV
    if CAUSAL:
        end_n = tl.minimum(N_KV, start_m + BLOCK_M2 + N_KV - N_Q)
    for curr_n in range(0, end_n, BLOCK_N2):
        cols = curr_n + offs_n
        n_mask = (cols[None, :] < N_KV) & (offs_k[:, None] < HEAD_DIM)
        kT = tl.load(kT_ptrs, mask=n_mask, other=0.0)
        vT = tl.load(vT_ptrs, mask=n_mask, other=0.0)
        qk = tl.dot(q, kT, input_precision="ieee")
        p = tl.math.exp2(qk * qk_scale - m)
        # Masking.
        keep = cols[None, :] < N_KV
        if CAUSAL:
            keep = keep & (offs_m[:, None] + N_KV - N_Q >= cols[None, :])
        p = tl.where(keep, p, 0.0)
        # Compute dP and dS.
        dp = tl.dot(do, vT, input_precision="ieee").to(tl.float32)
        ds = p * (dp - Di[:, None])
        ds = ds.to(kT.dtype)
        # Compute dQ.
        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")
        # Increment pointers.
        kT_ptrs += BLOCK_N2 * stride_kn
        vT_ptrs += BLOCK_N2 * stride_vn
    dq *= sm_scale
    DQ += off_z * stride_gz + off_h * stride_gh
    dq_ptrs = DQ + offs_m[:, None] * stride_gm + offs_k[None, :] * stride_gd
    tl.store(dq_ptrs, dq.to(DQ.dtype.element_ty), mask=m_mask)


def _bwd(q, k, v, o, do, lse, sm_scale, causal):
    BATCH, N_HEAD, N_Q, HEAD_DIM = q.shape
    delta = (o.to(torch.float32) * do.to(torch.float32)).sum(dim=-1)
    M = lse.contiguous() * RCP_LN2
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    _attn_bwd_dq[(triton.cdiv(N_Q, 64), N_HEAD, BATCH)](
        q, k, v, do, M, delta, dq, sm_scale, sm_scale * RCP_LN2,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        N_Q, k.shape[2], HEAD_DIM,
        CAUSAL=causal, BLOCK_M2=64, BLOCK_N2=32, BLOCK_DH=max(16, triton.next_power_of_2(HEAD_DIM)),
    )
    return dq


def dq_kernel(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, False)


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, True)
"""

DQ_FLATTENED = """
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
    delta = (o.float() * do.float()).sum(-1)
    n_blocks = triton.cdiv(M, 32)
    dq_flat_kernel[(B * H * n_blocks,)](
        q, k, v, do, lse, delta, dq, alpha, M, N, D, n_blocks,
        BLOCK_M=32, BLOCK_N=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
"""

DQ_BLOCK_POINTERS = """
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def dq_blocks(
    q_p, k_p, v_p, g_p, lse_p, delta_p, dq_p, scale, n_q, n_k, dim,
    qb, qh, qs, qd, kb, kh, ks, kd, vb, vh, vs, vd, gb, gh, gs, gd, xb, xh, xs, xd,
    CAUSAL: tl.constexpr, TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    bi = tl.program_id(0).to(tl.int64)
    hi = tl.program_id(1).to(tl.int64)
    q_start = tl.program_id(2) * TQ
    q_blk = tl.make_block_ptr(q_p + bi * qb + hi * qh, (n_q, dim), (qs, qd), (q_start, 0), (TQ, TD), (1, 0))
    g_blk = tl.make_block_ptr(g_p + bi * gb + hi * gh, (n_q, dim), (gs, gd), (q_start, 0), (TQ, TD), (1, 0))
    x_blk = tl.make_block_ptr(dq_p + bi * xb + hi * xh, (n_q, dim), (xs, xd), (q_start, 0), (TQ, TD), (1, 0))
    k_blk = tl.make_block_ptr(k_p + bi * kb + hi * kh, (n_k, dim), (ks, kd), (0, 0), (TK, TD), (1, 0))
    v_blk = tl.make_block_ptr(v_p + bi * vb + hi * vh, (n_k, dim), (vs, vd), (0, 0), (TK, TD), (1, 0))
    q = tl.load(q_blk, boundary_check=(0, 1), padding_option="zero")
    g = tl.load(g_blk, boundary_check=(0, 1), padding_option="zero")
    i = q_start + tl.arange(0, TQ)
    head = (bi * tl.num_programs(1) + hi) * n_q
    lse_r = tl.load(lse_p + head + i, mask=i < n_q, other=0.0)
    lse_r = tl.where(lse_r == float("-inf"), float("inf"), lse_r)
    delta_r = tl.load(delta_p + head + i, mask=i < n_q, other=0.0)
    dq = tl.zeros((TQ, TD), tl.float32)
    last = n_k
    if CAUSAL:
        last = tl.minimum(n_k, q_start + TQ + n_k - n_q)
    for k_start in range(0, last, TK):
        j = k_start + tl.arange(0, TK)
        k = tl.load(k_blk, boundary_check=(0, 1), padding_option="zero")
        v = tl.load(v_blk, boundary_check=(0, 1), padding_option="zero")
        vis = (j < n_k)[None, :]
        if CAUSAL:
            vis = vis & (j[None, :] - i[:, None] <= n_k - n_q)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_r[:, None])
        p = tl.where(vis, p, 0.0)
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_r[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        k_blk = tl.advance(k_blk, (TK, 0))
        v_blk = tl.advance(v_blk, (TK, 0))
    tl.store(x_blk, (scale * dq).to(dq_p.dtype.element_ty), boundary_check=(0, 1))


def _launch(q, k, v, o, do, lse, alpha, causal):
    B, H, n_q, dim = q.shape
    dq = torch.empty((B, H, n_q, dim), dtype=q.dtype, device=q.device)
    dq_blocks[(B, H, triton.cdiv(n_q, 16))](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, n_q, k.shape[2], dim,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        CAUSAL=causal, TQ=16, TK=32, TD=max(16, triton.next_power_of_2(dim)),
    )
    return dq


def dq_kernel(q, k, v, o, do, lse, alpha):
    return _launch(q, k, v, o, do, lse, alpha, False)


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    return _launch(q, k, v, o, do, lse, alpha, True)
"""

DQ_ATOMIC = """
@triton.jit
def dq_from_keys(
    Q, K, V, dO, Lse, Delta, dQ, scale, H, Sq, Sk, D,
    qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, gb, gh, gm, gd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    # each program keeps one tile of K and V, goes over all queries, and adds to dQ as in Algorithm 2
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, BD)
    n_ok = (n < Sk)[:, None] & (d < D)[None, :]
    k = tl.load(K + b * kb + h * kh + n[:, None] * kn + d[None, :] * kd, mask=n_ok, other=0.0)
    v = tl.load(V + b * vb + h * vh + n[:, None] * vn + d[None, :] * vd, mask=n_ok, other=0.0)
    for m0 in range(0, Sq, BM):
        m = m0 + tl.arange(0, BM)
        m_ok = (m < Sq)[:, None] & (d < D)[None, :]
        q = tl.load(Q + b * qb + h * qh + m[:, None] * qm + d[None, :] * qd, mask=m_ok, other=0.0)
        g = tl.load(dO + b * gb + h * gh + m[:, None] * gm + d[None, :] * gd, mask=m_ok, other=0.0)
        lse = tl.load(Lse + bh * Sq + m, mask=m < Sq, other=0.0)
        delta = tl.load(Delta + bh * Sq + m, mask=m < Sq, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.exp(tl.where((n < Sk)[None, :], s, float("-inf")) - lse[:, None])
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        part = tl.dot(ds, k.to(tl.float32), input_precision="ieee")
        tl.atomic_add(dQ + (bh * Sq + m[:, None]) * D + d[None, :], part, mask=m_ok)


def dq_kernel(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    delta = torch.einsum("bhsd,bhsd->bhs", o.float(), do.float()).contiguous()
    dq = torch.zeros((B, H, Sq, D), dtype=torch.float32, device=q.device)
    dq_from_keys[(triton.cdiv(Sk, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=16, BN=32, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq.to(q.dtype)
"""

DQ_TWO_PHASES = """
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def _dq_part(
    dq, q, do, lse, delta, K, V, lo, hi, i, off, Sk, D, skn, skd, svn, svd, scale,
    EDGE: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for j0 in range(lo, hi, BN):
        j = j0 + tl.arange(0, BN)
        ok = (j[:, None] < Sk) & (d[None, :] < D)
        k = tl.load(K + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
        v = tl.load(V + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        if EDGE:
            s = tl.where((j[None, :] < Sk) & (i[:, None] + off >= j[None, :]), s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    return dq


@triton.jit
def dq_two_phases(
    Q, K, V, DO, LSE, DELTA, DQ, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sgb, sgh, sgm, sgd, sxb, sxh, sxm, sxd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i0 = tl.program_id(0) * BM
    i = i0 + tl.arange(0, BM)
    d = tl.arange(0, BD)
    ok = (i[:, None] < Sq) & (d[None, :] < D)
    q = tl.load(Q + b * sqb + h * sqh + i[:, None] * sqm + d[None, :] * sqd, mask=ok, other=0.0)
    do = tl.load(DO + b * sgb + h * sgh + i[:, None] * sgm + d[None, :] * sgd, mask=ok, other=0.0)
    lse = tl.load(LSE + bh * Sq + i, mask=i < Sq, other=0.0)
    lse = tl.where(lse == float("-inf"), 0.0, lse)  # nothing seen: all scores are -inf anyway
    delta = tl.load(DELTA + bh * Sq + i, mask=i < Sq, other=0.0)
    K += b * skb + h * skh
    V += b * svb + h * svh
    off = Sk - Sq
    full = tl.maximum(0, i0 + off + 1) // BN * BN
    stop = tl.minimum(Sk, i0 + BM + off)
    dq = tl.zeros([BM, BD], tl.float32)
    dq = _dq_part(
        dq, q, do, lse, delta, K, V, 0, full, i, off, Sk, D, skn, skd, svn, svd, scale, False, BN, BD
    )
    dq = _dq_part(
        dq, q, do, lse, delta, K, V, full, stop, i, off, Sk, D, skn, skd, svn, svd, scale, True, BN, BD
    )
    dq = dq * scale
    tl.store(
        DQ + b * sxb + h * sxh + i[:, None] * sxm + d[None, :] * sxd, dq.to(DQ.dtype.element_ty), mask=ok
    )


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, Sq, D), dtype=q.dtype, device=q.device)
    dq_two_phases[(triton.cdiv(Sq, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, Sq, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
"""

# ---------------------------------------------------------------- lesson 08: bases

DKV_BY_THE_NOTEBOOK = """
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q

    columns = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    keep = (columns < S_k)[:, None] & (d < D)[None, :]
    kk = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=keep, other=0.0)
    vv = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=keep, other=0.0)
    gk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    gv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    first = 0
    for start in range(first, S_q, BLOCK_Q):
        rows = start + queries
        live = rows < S_q
        ok = live[:, None] & (d < D)[None, :]
        qq = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
        oo = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
        ll = tl.load(lse_ptr + rows, mask=live, other=0.0)
        dd = tl.load(delta_ptr + rows, mask=live, other=0.0)
        ss = alpha * tl.dot(qq, tl.trans(kk), input_precision="ieee")
        pp = tl.exp(ss - ll[:, None])
        pp = tl.where(live[:, None], pp, 0.0)
        gv += tl.dot(tl.trans(pp).to(oo.dtype), oo, input_precision="ieee")
        dp = tl.dot(oo, tl.trans(vv), input_precision="ieee")
        ds = pp * (dp - dd[:, None])
        gk += tl.dot(tl.trans(ds).to(qq.dtype), qq, input_precision="ieee")
    gk = gk * alpha
    at_k = columns[:, None] * dk_row + d[None, :] * dk_col
    at_v = columns[:, None] * dv_row + d[None, :] * dv_col
    tl.store(dk_ptr + at_k, gk.to(dk_ptr.dtype.element_ty), mask=keep)
    tl.store(dv_ptr + at_v, gv.to(dv_ptr.dtype.element_ty), mask=keep)


def dkv_kernel(q, k, v, o, do, lse, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_dkv_kernel[(triton.cdiv(S_k, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
    )
    return dk, dv
"""

_changed = DKV_BY_THE_NOTEBOOK
for _old, _new in (
    (
        "    first = 0\n",
        "    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))\n"
        "    first = first // BLOCK_Q * BLOCK_Q\n",
    ),
    (
        "pp = tl.where(live[:, None], pp, 0.0)",
        "pp = tl.where(live[:, None] & (columns[None, :] <= rows[:, None] + S_k - S_q), pp, 0.0)",
    ),
    ("def dkv_kernel(", "def dkv_kernel_causal("),
):
    assert _changed.count(_old) == 1
    _changed = _changed.replace(_old, _new)
DKV_CAUSAL_BY_THE_NOTEBOOK = _changed

DKV_TRANSPOSED = """
RCP_LN2 = 1.4426950408889634


@triton.jit
def _attn_bwd_dkdv(
    Q, k_in, v_in, DO, M, Delta, DK, DV, sm_scale, qk_scale,
    stride_qz, stride_qh, stride_qm, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_om, stride_od,
    H, N_Q, N_KV, HEAD_DIM,
    CAUSAL: tl.constexpr, BLOCK_M1: tl.constexpr, BLOCK_N1: tl.constexpr, BLOCK_DH: tl.constexpr,
):
    bhid = tl.program_id(1)
    off_z = (bhid // H).to(tl.int64)
    off_h = (bhid % H).to(tl.int64)
    start_n = tl.program_id(0) * BLOCK_N1
    offs_n = start_n + tl.arange(0, BLOCK_N1)
    offs_k = tl.arange(0, BLOCK_DH)
    n_mask = (offs_n[:, None] < N_KV) & (offs_k[None, :] < HEAD_DIM)
    k_ptrs = k_in + off_z * stride_kz + off_h * stride_kh + offs_n[:, None] * stride_kn
    v_ptrs = v_in + off_z * stride_vz + off_h * stride_vh + offs_n[:, None] * stride_vn
    k = tl.load(k_ptrs + offs_k[None, :] * stride_kd, mask=n_mask, other=0.0)
    v = tl.load(v_ptrs + offs_k[None, :] * stride_vd, mask=n_mask, other=0.0)
    Q += off_z * stride_qz + off_h * stride_qh
    DO += off_z * stride_oz + off_h * stride_oh
    M += bhid.to(tl.int64) * N_Q
    Delta += bhid.to(tl.int64) * N_Q
    dk = tl.zeros([BLOCK_N1, BLOCK_DH], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N1, BLOCK_DH], dtype=tl.float32)
    lo = 0
    if CAUSAL:
        lo = tl.maximum(start_n + N_Q - N_KV, 0) // BLOCK_M1 * BLOCK_M1
    for curr_m in range(lo, N_Q, BLOCK_M1):
        offs_m = curr_m + tl.arange(0, BLOCK_M1)
        qT_mask = (offs_m[None, :] < N_Q) & (offs_k[:, None] < HEAD_DIM)
        do_mask = (offs_m[:, None] < N_Q) & (offs_k[None, :] < HEAD_DIM)
        qT = tl.load(Q + offs_m[None, :] * stride_qm + offs_k[:, None] * stride_qd, mask=qT_mask, other=0.0)
        # Load m before computing qk to reduce pipeline stall.
        m = tl.load(M + offs_m, mask=offs_m < N_Q, other=float("inf"))
        qkT = tl.dot(k, qT, input_precision="ieee") * qk_scale
        pT = tl.math.exp2(qkT - m[None, :])
        # Autoregressive masking.
        if CAUSAL:
            mask = offs_m[None, :] + N_KV - N_Q >= offs_n[:, None]
            pT = tl.where(mask, pT, 0.0)
        do = tl.load(DO + offs_m[:, None] * stride_om + offs_k[None, :] * stride_od, mask=do_mask, other=0.0)
        # Compute dV.
        ppT = pT.to(do.dtype)
        dv += tl.dot(ppT, do, input_precision="ieee")
        # D (= delta) is pre-divided by ds_scale.
        Di = tl.load(Delta + offs_m, mask=offs_m < N_Q, other=0.0)
        # Compute dP and dS.
        dpT = tl.dot(v, tl.trans(do), input_precision="ieee").to(tl.float32)
        dsT = pT * (dpT - Di[None, :])
        dsT = dsT.to(qT.dtype)
        dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")
    dk *= sm_scale
    offs = bhid.to(tl.int64) * N_KV * HEAD_DIM + offs_n[:, None] * HEAD_DIM + offs_k[None, :]
    tl.store(DV + offs, dv.to(DV.dtype.element_ty), mask=n_mask)
    tl.store(DK + offs, dk.to(DK.dtype.element_ty), mask=n_mask)


def _bwd(q, k, v, o, do, lse, sm_scale, causal):
    BATCH, N_HEAD, N_Q, HEAD_DIM = q.shape
    N_KV = k.shape[2]
    delta = torch.sum(o.float() * do.float(), dim=-1)
    dk = torch.empty((BATCH, N_HEAD, N_KV, HEAD_DIM), dtype=k.dtype, device=k.device)
    dv = torch.empty((BATCH, N_HEAD, N_KV, HEAD_DIM), dtype=v.dtype, device=v.device)
    _attn_bwd_dkdv[(triton.cdiv(N_KV, 32), BATCH * N_HEAD)](
        q, k, v, do, lse.contiguous() * RCP_LN2, delta, dk, dv, sm_scale, sm_scale * RCP_LN2,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        N_HEAD, N_Q, N_KV, HEAD_DIM,
        CAUSAL=causal, BLOCK_M1=16, BLOCK_N1=32, BLOCK_DH=max(16, triton.next_power_of_2(HEAD_DIM)),
    )
    return dk, dv


def dkv_kernel(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, False)


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, True)
"""

DKV_FLATTENED = """
@triton.jit
def kv_grads(
    query, key, value, grad_out, lse, delta, grad_key, grad_value, scale, nq, nk, dim, key_blocks,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    head = (tl.program_id(0) // key_blocks).to(tl.int64)
    c = (tl.program_id(0) % key_blocks) * BK + tl.arange(0, BK)
    e = tl.arange(0, BD)
    c_ok = (c[:, None] < nk) & (e[None, :] < dim)
    c_at = head * nk * dim + c[:, None] * dim + e[None, :]
    k = tl.load(key + c_at, mask=c_ok, other=0.0).to(tl.float32)
    v = tl.load(value + c_at, mask=c_ok, other=0.0).to(tl.float32)
    sum_k = tl.zeros([BK, BD], tl.float32)
    sum_v = tl.zeros([BK, BD], tl.float32)
    lanes = tl.arange(0, BQ)
    for i0 in range(0, nq, BQ):
        r = i0 + lanes
        r_ok = (r[:, None] < nq) & (e[None, :] < dim)
        r_at = head * nq * dim + r[:, None] * dim + e[None, :]
        q = tl.load(query + r_at, mask=r_ok, other=0.0).to(tl.float32)
        g = tl.load(grad_out + r_at, mask=r_ok, other=0.0).to(tl.float32)
        row_lse = tl.load(lse + head * nq + r, mask=r < nq, other=float("inf"))
        row_delta = tl.load(delta + head * nq + r, mask=r < nq, other=0.0)
        prob = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") * scale - row_lse[:, None])
        sum_v += tl.dot(tl.trans(prob), g, input_precision="ieee")
        d_score = prob * (tl.dot(g, tl.trans(v), input_precision="ieee") - row_delta[:, None])
        sum_k += tl.dot(tl.trans(d_score), q * scale, input_precision="ieee")
    tl.store(grad_key + c_at, sum_k.to(grad_key.dtype.element_ty), mask=c_ok)
    tl.store(grad_value + c_at, sum_v.to(grad_value.dtype.element_ty), mask=c_ok)


def dkv_kernel(q, k, v, o, do, lse, alpha):
    B, H, nq, dim = q.shape
    nk = k.shape[2]
    delta = (o.float() * do.float()).sum(-1)
    q, k, v, do, lse = (x.contiguous() for x in (q, k, v, do, lse))
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    key_blocks = triton.cdiv(nk, 16)
    kv_grads[(B * H * key_blocks,)](
        q, k, v, do, lse, delta, dk, dv, alpha, nq, nk, dim, key_blocks,
        BQ=32, BK=16, BD=max(16, triton.next_power_of_2(dim)),
    )
    return dk, dv
"""

DKV_ONE_TILE = """
@triton.jit
def one_tile_kernel(
    Q, K, V, G, Lse, Delta, DK, DV, scale, H, Sq, Sk, D,
    qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, gb, gh, gm, gd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    # a program for each tile of S; what it finds is added to the rows of dK and dV
    j = tl.program_id(0) * BN + tl.arange(0, BN)
    i = tl.program_id(1) * BM + tl.arange(0, BM)
    bh = tl.program_id(2).to(tl.int64)
    b, h = bh // H, bh % H
    d = tl.arange(0, BD)
    j_ok = (j[:, None] < Sk) & (d[None, :] < D)
    i_ok = (i[:, None] < Sq) & (d[None, :] < D)
    k = tl.load(K + b * kb + h * kh + j[:, None] * kn + d[None, :] * kd, mask=j_ok, other=0.0)
    v = tl.load(V + b * vb + h * vh + j[:, None] * vn + d[None, :] * vd, mask=j_ok, other=0.0)
    q = tl.load(Q + b * qb + h * qh + i[:, None] * qm + d[None, :] * qd, mask=i_ok, other=0.0)
    g = tl.load(G + b * gb + h * gh + i[:, None] * gm + d[None, :] * gd, mask=i_ok, other=0.0)
    lse = tl.load(Lse + bh * Sq + i, mask=i < Sq, other=float("inf"))
    delta = tl.load(Delta + bh * Sq + i, mask=i < Sq, other=0.0)
    pt = tl.exp(tl.dot(k, tl.trans(q), input_precision="ieee") * scale - lse[None, :])
    dst = pt * (tl.dot(v, tl.trans(g), input_precision="ieee") - delta[None, :])
    add_v = tl.dot(pt, g.to(tl.float32), input_precision="ieee")
    add_k = tl.dot(dst, q.to(tl.float32), input_precision="ieee") * scale
    at = (bh * Sk + j[:, None]) * D + d[None, :]
    tl.atomic_add(DV + at, add_v, mask=j_ok)
    tl.atomic_add(DK + at, add_k, mask=j_ok)


def dkv_kernel(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    delta = (o.double() * do.double()).sum(-1).float()
    dk = torch.zeros((B, H, Sk, D), dtype=torch.float32, device=q.device)
    dv = torch.zeros((B, H, Sk, D), dtype=torch.float32, device=q.device)
    one_tile_kernel[(triton.cdiv(Sk, 32), triton.cdiv(Sq, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=32, BN=32, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk.to(k.dtype), dv.to(v.dtype)
"""

DKV_WHILE = """
@triton.jit
def dkv_while(
    q_p, k_p, v_p, g_p, lse_p, delta_p, dk_p, dv_p, scale, heads, n_q, n_k, dim,
    qb, qh, qs, qd, kb, kh, ks, kd, vb, vh, vs, vd, gb, gh, gs, gd, xb, xh, xs, xd, yb, yh, ys, yd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bz = tl.program_id(0).to(tl.int64)
    b, h = bz // heads, bz % heads
    j0 = tl.program_id(1) * BN
    k_blk = tl.make_block_ptr(k_p + b * kb + h * kh, (n_k, dim), (ks, kd), (j0, 0), (BN, BD), (1, 0))
    v_blk = tl.make_block_ptr(v_p + b * vb + h * vh, (n_k, dim), (vs, vd), (j0, 0), (BN, BD), (1, 0))
    k = tl.load(k_blk, boundary_check=(0, 1), padding_option="zero")
    v = tl.load(v_blk, boundary_check=(0, 1), padding_option="zero")
    j = j0 + tl.arange(0, BN)
    off = n_k - n_q
    i0 = tl.maximum(0, j0 - off) // BM * BM
    q_blk = tl.make_block_ptr(q_p + b * qb + h * qh, (n_q, dim), (qs, qd), (i0, 0), (BM, BD), (1, 0))
    g_blk = tl.make_block_ptr(g_p + b * gb + h * gh, (n_q, dim), (gs, gd), (i0, 0), (BM, BD), (1, 0))
    dk = tl.zeros((BN, BD), tl.float32)
    dv = tl.zeros((BN, BD), tl.float32)
    while i0 < n_q:
        i = i0 + tl.arange(0, BM)
        q = tl.load(q_blk, boundary_check=(0, 1), padding_option="zero")
        g = tl.load(g_blk, boundary_check=(0, 1), padding_option="zero")
        lse = tl.load(lse_p + bz * n_q + i, mask=i < n_q, other=float("inf"))
        lse = tl.where(lse == float("-inf"), float("inf"), lse)
        delta = tl.load(delta_p + bz * n_q + i, mask=i < n_q, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(j[None, :] <= i[:, None] + off, s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv = tl.dot(tl.trans(p).to(g.dtype), g, dv, input_precision="ieee")
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk, input_precision="ieee")
        q_blk = tl.advance(q_blk, (BM, 0))
        g_blk = tl.advance(g_blk, (BM, 0))
        i0 += BM
    dk = dk * scale
    dk_blk = tl.make_block_ptr(dk_p + b * xb + h * xh, (n_k, dim), (xs, xd), (j0, 0), (BN, BD), (1, 0))
    dv_blk = tl.make_block_ptr(dv_p + b * yb + h * yh, (n_k, dim), (ys, yd), (j0, 0), (BN, BD), (1, 0))
    tl.store(dk_blk, dk.to(dk_p.dtype.element_ty), boundary_check=(0, 1))
    tl.store(dv_blk, dv.to(dv_p.dtype.element_ty), boundary_check=(0, 1))


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    batch, heads, n_q, dim = q.shape
    n_k = k.shape[2]
    delta = (o.float() * do.float()).sum(dim=3).contiguous()
    dk, dv = k.new_empty(k.shape), v.new_empty(v.shape)
    dkv_while[(batch * heads, triton.cdiv(n_k, 16))](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, heads, n_q, n_k, dim,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(dim)),
    )
    return dk, dv
"""

DKV_TWO_PHASES = """
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def _add_queries(
    dk, dv, k, v, Q, G, LSE, DELTA, lo, hi, j, off, Sq, D, sqm, sqd, sgm, sgd, scale,
    EDGE: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for i0 in range(lo, hi, BM):
        i = i0 + tl.arange(0, BM)
        ok = (i[:, None] < Sq) & (d[None, :] < D)
        q = tl.load(Q + i[:, None] * sqm + d[None, :] * sqd, mask=ok, other=0.0)
        g = tl.load(G + i[:, None] * sgm + d[None, :] * sgd, mask=ok, other=0.0)
        lse = tl.load(LSE + i, mask=i < Sq, other=float("inf"))
        delta = tl.load(DELTA + i, mask=i < Sq, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        if EDGE:
            lse = tl.where(lse == float("-inf"), float("inf"), lse)
            s = tl.where(i[:, None] + off >= j[None, :], s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p).to(g.dtype), g, input_precision="ieee")
        ds = p * (tl.dot(g, tl.trans(v), input_precision="ieee") - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    return dk, dv


@triton.jit
def dkv_two_phases(
    Q, K, V, G, LSE, DELTA, DK, DV, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sgb, sgh, sgm, sgd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    j0 = tl.program_id(0) * BN
    j = j0 + tl.arange(0, BN)
    d = tl.arange(0, BD)
    ok = (j[:, None] < Sk) & (d[None, :] < D)
    k = tl.load(K + b * skb + h * skh + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
    v = tl.load(V + b * svb + h * svh + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
    Q += b * sqb + h * sqh
    G += b * sgb + h * sgh
    LSE += bh * Sq
    DELTA += bh * Sq
    off = Sk - Sq
    lo = tl.maximum(0, j0 - off) // BM * BM  # the first query that sees a key of the block
    mid = (tl.maximum(0, j0 + BN - 1 - off) + BM - 1) // BM * BM  # from here on all keys are seen
    mid = tl.minimum(mid, (Sq + BM - 1) // BM * BM)
    dk = tl.zeros([BN, BD], tl.float32)
    dv = tl.zeros([BN, BD], tl.float32)
    dk, dv = _add_queries(
        dk, dv, k, v, Q, G, LSE, DELTA, lo, mid, j, off, Sq, D, sqm, sqd, sgm, sgd, scale, True, BM, BD
    )
    # the rest needs no mask
    dk, dv = _add_queries(
        dk, dv, k, v, Q, G, LSE, DELTA, mid, Sq, j, off, Sq, D, sqm, sqd, sgm, sgd, scale, False, BM, BD
    )
    at = (bh * Sk + j[:, None]) * D + d[None, :]
    tl.store(DK + at, (scale * dk).to(DK.dtype.element_ty), mask=ok)
    tl.store(DV + at, dv.to(DV.dtype.element_ty), mask=ok)


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    dk = torch.empty((B, H, Sk, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, Sk, D), dtype=v.dtype, device=v.device)
    dkv_two_phases[(triton.cdiv(Sk, 16), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=16, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
"""

# ---------------------------------------------------------------- right answers

right(
    "flash_forward",
    "unseen: FlashAttention-1, O kept normalised, K loaded transposed, batch first in the grid",
)(written(FIRST_FLASH))
right("flash_forward_causal", "unseen: tiles of keys from right to left, heads first in the grid")(
    written(RIGHT_TO_LEFT)
)
right("dq_kernel", "unseen: a program per tile of keys, atomic additions to dQ in fp32")(written(DQ_ATOMIC))
right("dkv_kernel", "unseen: a program per tile of S, atomic additions to dK and dV in fp32")(
    written(DKV_ONE_TILE)
)
right(
    "dkv_kernel_causal", "unseen: the tiles of queries start at the first that sees the block, wherever it is"
)(edited(DKV_CAUSAL_BY_THE_NOTEBOOK, ("    first = first // BLOCK_Q * BLOCK_Q\n", "")))

# ---------------------------------------------------------------- flash_forward

wrong(
    "flash_forward",
    "V's block pointer is never advanced: every tile of P meets the first tile of V.",
    "V's pointer is not advanced",
)(
    edited(
        TUTORIAL_BLOCKS,
        ("        V_block_ptr = tl.advance(V_block_ptr, (BLOCK_N, 0))\n", ""),
        title="unseen: V's block pointer stays",
        launcher="flash_forward",
    )
)
wrong(
    "flash_forward",
    "m_i is never set to the new maximum: it stays -inf, so each tile wipes out what came before it, "
    "and the LSE is -inf.",
    "m is never updated",
    "only the last tile",
)(
    edited(
        TUTORIAL_BLOCKS,
        ("        m_i = m_ij\n", ""),
        title="unseen: m_i is not carried on",
        launcher="flash_forward",
    )
)
wrong(
    "flash_forward",
    "O is kept divided by l, and must be multiplied by the old l before the new tile is added; it is not.",
    "divided in every step",
)(
    edited(
        FIRST_FLASH,
        ("((li * a)[:, None] * Oi + b[:, None] * PV)", "(a[:, None] * Oi + b[:, None] * PV)"),
        title="unseen: a normalised O without its old l",
    )
)
wrong(
    "flash_forward",
    "Keys beyond S_k get the score 0, not -inf, and are counted in l and in the LSE.",
    "padded keys are not masked",
)(
    edited(
        FIRST_FLASH,
        ('Sij = tl.where(valid[None, :], Sij, float("-inf"))', "Sij = tl.where(valid[None, :], Sij, 0.0)"),
        title="unseen: padded keys have score 0",
    )
)
wrong(
    "flash_forward",
    "Two mistakes: the launcher takes 1/sqrt(D) and ignores alpha, and the LSE is log l without the maximum.",
    "LSE without m",
)(
    edited(
        FLATTENED,
        ("    scale = alpha\n", "    scale = 1.0 / math.sqrt(head_dim)\n"),
        ("lse = running_max + tl.log(running_sum)", "lse = tl.log(running_sum)"),
        title="unseen: 1/sqrt(D) for alpha, LSE without m",
    )
)
wrong(
    "flash_forward",
    "The launcher scales q in place, and so changes the caller's tensor.",
    "changed input",
)(
    edited(
        FLATTENED,
        ("    scale = alpha\n", "    q_flat.mul_(alpha)\n    scale = 1.0\n"),
        title="unseen: q scaled in place",
    )
)

# ---------------------------------------------------------------- flash_forward_causal

wrong(
    "flash_forward_causal",
    "The unmasked phase is rounded up: it takes the tile that crosses the diagonal, without a mask.",
    "leak from the future",
    "only whole tiles are hidden",
)(
    edited(
        TWO_PHASES,
        (
            "    whole = tl.maximum(i0 + off + 1, 0) // BN * BN",
            "    whole = tl.cdiv(tl.maximum(i0 + off + 1, 0), BN) * BN",
        ),
        title="unseen: a crossed tile in the unmasked phase",
    )
)
wrong(
    "flash_forward_causal",
    "The mask compares the key's place in its tile with the query, not the key's number: "
    "every tile is masked as if it were the first.",
    "leak from the future",
    "only whole tiles are hidden",
)(
    edited(
        IN_THE_NOTEBOOK,
        ("hidden = (cols[None, :] > rows[:, None]", "hidden = (keys[None, :] > rows[:, None]"),
        title="unseen: the mask without the tile's start",
    )
)
wrong(
    "flash_forward_causal",
    "Two mistakes: a query does not see the last of its keys (>= hides it), and acc is not rescaled.",
    "the diagonal is hidden + acc not rescaled",
    "the diagonal is hidden",
    "acc not rescaled",
)(
    edited(
        IN_THE_NOTEBOOK,
        ("(cols[None, :] > rows[:, None] + (S_k - S_q))", "(cols[None, :] >= rows[:, None] + (S_k - S_q))"),
        ("acc = r[:, None] * acc + tl.dot(", "acc = acc + tl.dot("),
        title="unseen: >= hides, and acc is not rescaled",
    )
)
wrong(
    "flash_forward_causal",
    "While a row has seen nothing its maximum is -inf, and -inf minus -inf is NaN; the guard is missing.",
    "inf minus inf",
)(
    edited(
        RIGHT_TO_LEFT,
        ('origin = tl.where(better == float("-inf"), 0.0, better)', "origin = better"),
        title="unseen: from right to left without a guard",
    )
)
wrong(
    "flash_forward_causal",
    "The loop ends before the block's own diagonal: the last tiles of keys that it sees are missing.",
    "loop ends one tile early",
    "last tile missing",
)(
    edited(
        TUTORIAL_BLOCKS,
        ("(start_m + 1) * BLOCK_M + KV_CTX - N_CTX", "start_m * BLOCK_M + KV_CTX - N_CTX"),
        title="unseen: the loop ends before the diagonal",
        launcher="flash_forward_causal",
    )
)
wrong(
    "flash_forward_causal",
    "Hidden scores are lowered by a million instead of set to -inf: a query that sees nothing averages "
    "what it must not see.",
    "a finite number for −inf",
    "leak from the future",
)(
    edited(
        TUTORIAL_BLOCKS,
        (
            '        qk = tl.where(mask, qk, float("-inf"))\n',
            "        qk = qk + tl.where(mask, 0, -1.0e6)\n",
        ),
        title="unseen: -1.0e6 for the hidden",
        launcher="flash_forward_causal",
    )
)

# ---------------------------------------------------------------- dq_kernel

wrong(
    "dq_kernel",
    "The exponential is to base 2 and LSE is natural: it must be multiplied by log2(e) first.",
    "LSE read as base 2",
)(
    edited(
        DQ_BASE_2,
        ("M = lse.contiguous() * RCP_LN2", "M = lse.contiguous()"),
        title="unseen: exp2 with a natural LSE",
        launcher="dq_kernel",
    )
)
wrong(
    "dq_kernel",
    "delta is summed from products in half precision and rounded to it; dP - delta loses what matters.",
    "precision",
)(
    edited(
        DQ_FLATTENED,
        ("delta = (o.float() * do.float()).sum(-1)", "delta = (o * do).sum(-1)"),
        title="unseen: delta in half precision",
    )
)
wrong(
    "dq_kernel",
    "delta is subtracted after the product with P: dS is P (dP - delta), not P dP - delta.",
    "delta subtracted after P",
)(
    edited(
        DQ_BY_THE_NOTEBOOK,
        ("dS = P * (dP - Dl)", "dS = P * dP - Dl"),
        title="unseen: P dP - delta",
    )
)
wrong(
    "dq_kernel",
    "Two mistakes: delta is added instead of subtracted, and alpha is missing from dQ.",
    "delta added + alpha is missing from dQ",
    "delta added",
    "alpha is missing from dQ",
)(
    edited(
        DQ_BY_THE_NOTEBOOK,
        ("dS = P * (dP - Dl)", "dS = P * (dP + Dl)"),
        ("    grad = grad * alpha\n", ""),
        title="unseen: plus delta, and no alpha",
    )
)
wrong(
    "dq_kernel",
    "The block pointers of K and V have the length of Q: keys from S_q on are taken as zeros, and where "
    "S_q is larger, rows beyond S_k are read.",
    "out_of_bounds",
    "load of K without a mask",
    "loop over S_q",
)(
    edited(
        DQ_BLOCK_POINTERS,
        ("bi * kb + hi * kh, (n_k, dim)", "bi * kb + hi * kh, (n_q, dim)"),
        ("bi * vb + hi * vh, (n_k, dim)", "bi * vb + hi * vh, (n_q, dim)"),
        title="unseen: block pointers of K and V with Q's length",
        launcher="dq_kernel",
    )
)
wrong(
    "dq_kernel",
    "The programs add to a buffer from torch.empty, which holds whatever was there before.",
    "uninitialised memory",
    "changes from run to run",
)(
    edited(
        DQ_ATOMIC,
        ("dq = torch.zeros((B, H, Sq, D)", "dq = torch.empty((B, H, Sq, D)"),
        title="unseen: atomic additions to torch.empty",
    )
)

# ---------------------------------------------------------------- dq_kernel_causal

wrong(
    "dq_kernel_causal",
    "Mask and loop end are aligned top-left: the shift S_k - S_q is missing from both.",
    "mask aligned top-left",
    "loop end without S_k − S_q",
)(
    edited(
        DQ_BASE_2,
        ("offs_m[:, None] + N_KV - N_Q >= cols[None, :]", "offs_m[:, None] >= cols[None, :]"),
        ("start_m + BLOCK_M2 + N_KV - N_Q)", "start_m + BLOCK_M2)"),
        title="unseen: offs_m >= offs_n, as in a square",
        launcher="dq_kernel_causal",
    )
)
wrong(
    "dq_kernel_causal",
    "A query that saw nothing has LSE -inf, and -inf minus -inf is NaN: no guard.",
    "no guard for queries that see nothing",
    "inf minus inf",
)(
    edited(
        DQ_CAUSAL_BY_THE_NOTEBOOK,
        ('    L = tl.where(L == -float("inf"), float("inf"), L)\n', ""),
        title="unseen: no guard for LSE",
    )
)
wrong(
    "dq_kernel_causal",
    "The loop's end lacks S_k - S_q, which the mask has: with more keys than queries the last are left out.",
    "loop end without S_k − S_q",
)(
    edited(
        DQ_TWO_PHASES,
        ("stop = tl.minimum(Sk, i0 + BM + off)", "stop = tl.minimum(Sk, i0 + BM)"),
        title="unseen: the last phase ends at the square's diagonal",
    )
)
wrong(
    "dq_kernel_causal",
    "P is masked after dS has been computed from it, so the mask has no effect: hidden keys add to dQ.",
    "mask forgotten",
    "leak from the future",
)(
    edited(
        DQ_BLOCK_POINTERS,
        ("        p = tl.where(vis, p, 0.0)\n", ""),
        (
            "        ds = p * (dp - delta_r[:, None])\n",
            "        ds = p * (dp - delta_r[:, None])\n        p = tl.where(vis, p, 0.0)\n",
        ),
        title="unseen: the mask comes after dS",
        launcher="dq_kernel_causal",
    )
)
wrong(
    "dq_kernel_causal",
    "Two mistakes: < for <= hides each query's last key, and delta is not subtracted.",
    "mask hides the diagonal + delta omitted",
    "mask hides the diagonal",
    "delta omitted",
)(
    edited(
        DQ_CAUSAL_BY_THE_NOTEBOOK,
        ("(cols[None, :] <= limit)", "(cols[None, :] < limit)"),
        ("dS = P * (dP - Dl)", "dS = P * dP"),
        title="unseen: < for <=, and no delta",
    )
)
wrong(
    "dq_kernel_causal",
    "Hidden scores are set to 0, not -inf: hidden keys keep the weight exp(-LSE).",
    "hidden scores set to 0",
    "leak from the future",
)(
    edited(
        DQ_BLOCK_POINTERS,
        (
            "        p = tl.exp(s - lse_r[:, None])\n        p = tl.where(vis, p, 0.0)\n",
            "        s = tl.where(vis, s, 0.0)\n        p = tl.exp(s - lse_r[:, None])\n",
        ),
        title="unseen: hidden scores are 0",
        launcher="dq_kernel_causal",
    )
)

# ---------------------------------------------------------------- dkv_kernel

wrong(
    "dkv_kernel",
    "Neither P nor dS is transposed: dV is P dO and dK is dS Q; that runs since the tiles are square.",
    "dS not transposed + P not transposed",
    "dS not transposed",
    "P not transposed",
)(
    edited(
        DKV_BY_THE_NOTEBOOK,
        ("tl.dot(tl.trans(pp).to(oo.dtype),", "tl.dot(pp.to(oo.dtype),"),
        ("tl.dot(tl.trans(ds).to(qq.dtype),", "tl.dot(ds.to(qq.dtype),"),
        title="unseen: no transposes",
    )
)
wrong(
    "dkv_kernel",
    "dK is multiplied by ln 2 as well: that factor belongs where K was scaled by log2(e), and dS was not.",
    "constant factor",
)(
    edited(
        DKV_TRANSPOSED,
        ("    dk *= sm_scale\n", "    dk *= sm_scale * 0.6931471824645996\n"),
        title="unseen: dk times ln 2",
        launcher="dkv_kernel",
    )
)
wrong(
    "dkv_kernel",
    "Row numbers are clamped instead of masked: the last query is counted again for each padded row.",
    "padded queries repeat the last one",
)(
    edited(
        DKV_FLATTENED,
        ("        r = i0 + lanes\n", "        r = tl.minimum(i0 + lanes, nq - 1)\n"),
        title="unseen: rows clamped to the last query",
    )
)
wrong(
    "dkv_kernel",
    "The programs load, add and store without an atomic: those of one block of keys overwrite each other.",
    "race",
)(
    edited(
        DKV_ONE_TILE,
        (
            "    tl.atomic_add(DV + at, add_v, mask=j_ok)\n    tl.atomic_add(DK + at, add_k, mask=j_ok)\n",
            "    add_v += tl.load(DV + at, mask=j_ok, other=0.0)\n"
            "    add_k += tl.load(DK + at, mask=j_ok, other=0.0)\n"
            "    tl.store(DV + at, add_v, mask=j_ok)\n    tl.store(DK + at, add_k, mask=j_ok)\n",
        ),
        title="unseen: load, add, store",
    )
)
wrong(
    "dkv_kernel",
    "Two mistakes: dV and dK are returned in the wrong order, and dK lacks alpha.",
    "dK and dV exchanged + alpha is missing from dK",
    "dK and dV exchanged",
    "alpha is missing from dK",
    "outputs exchanged",
)(
    edited(
        DKV_BY_THE_NOTEBOOK,
        ("    gk = gk * alpha\n", ""),
        ("    return dk, dv\n", "    return dv, dk\n"),
        title="unseen: dv first, and no alpha",
    )
)
wrong(
    "dkv_kernel",
    "The grid counts blocks of queries, and programs own keys: with more keys than queries the last are "
    "never written.",
    "never written",
)(
    edited(
        DKV_FLATTENED,
        ("key_blocks = triton.cdiv(nk, 16)", "key_blocks = triton.cdiv(nq, 16)"),
        title="unseen: a grid over the queries",
    )
)

# ---------------------------------------------------------------- dkv_kernel_causal

wrong(
    "dkv_kernel_causal",
    "The loop starts at the block's own key number, without S_q - S_k: with more keys than queries the first "
    "queries that see the block are left out.",
    "loop start without S_k − S_q",
)(
    edited(
        DKV_TRANSPOSED,
        ("lo = tl.maximum(start_n + N_Q - N_KV, 0) // BLOCK_M1 * BLOCK_M1", "lo = start_n"),
        title="unseen: lo = start_n",
        launcher="dkv_kernel_causal",
    )
)
wrong(
    "dkv_kernel_causal",
    "The start is rounded up: the tile in which the first seeing query lies is left out.",
    "loop starts one block late",
)(
    edited(
        DKV_CAUSAL_BY_THE_NOTEBOOK,
        ("first = first // BLOCK_Q * BLOCK_Q", "first = tl.cdiv(first, BLOCK_Q) * BLOCK_Q"),
        title="unseen: the start rounded up",
    )
)
wrong(
    "dkv_kernel_causal",
    "A query that saw nothing has LSE -inf, and exp(-inf + inf) is NaN: it spoils every key of the block.",
    "no guard for queries that see nothing",
    "inf minus inf",
)(
    edited(
        DKV_WHILE,
        ('        lse = tl.where(lse == float("-inf"), float("inf"), lse)\n', ""),
        title="unseen: no guard in the while loop",
    )
)
wrong(
    "dkv_kernel_causal",
    "The mask is the wrong way round: in the transposed tile it keeps the keys after the query.",
    "leak from the future",
)(
    edited(
        DKV_TRANSPOSED,
        (
            "mask = offs_m[None, :] + N_KV - N_Q >= offs_n[:, None]",
            "mask = offs_m[None, :] + N_KV - N_Q <= offs_n[:, None]",
        ),
        title="unseen: the transposed mask reversed",
        launcher="dkv_kernel_causal",
    )
)
wrong(
    "dkv_kernel_causal",
    "Two mistakes: the mask is aligned top-left (and the start with it), and dK lacks alpha.",
    "mask aligned top-left + alpha is missing from dK",
    "mask aligned top-left",
    "alpha is missing from dK",
    "loop start without S_k − S_q",
)(
    edited(
        DKV_WHILE,
        ("    off = n_k - n_q\n", "    off = 0\n"),
        ("    dk = dk * scale\n", ""),
        title="unseen: top-left, and no alpha",
    )
)
wrong(
    "dkv_kernel_causal",
    "The second phase starts from zeros again: what the first found at the diagonal is lost.",
    "loop starts one block late",
)(
    edited(
        DKV_TWO_PHASES,
        (
            "    # the rest needs no mask\n",
            "    # the rest needs no mask\n    dk = tl.zeros([BN, BD], tl.float32)\n"
            "    dv = tl.zeros([BN, BD], tl.float32)\n",
        ),
        title="unseen: zeros between the phases",
    )
)
