"""Answers to lesson 06, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "flash_forward",
    "`o_acc = tl.zeros(..., q_ptr.dtype.element_ty)` and the `.to(...)` after each step: the accumulator "
    "is carried in fp16. With V around 1e4 in fp16 and many keys acc is l times as large as O and "
    "overflows; it has to stay in fp32.",
    "accumulator in half precision",
)(
    written(
        """
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
""",
        title="accumulator in the input's dtype, block pointers",
    )
)

wrong(
    "flash_forward",
    "`lse = m_i + tl.log2(l_i)`: m_i and l_i live in base 2, so this is LSE / ln 2. It has to be "
    "multiplied by ln 2; O is right and the LSE wrong for every input.",
    "LSE in base 2",
)(
    written(
        """
@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, qk_scale, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    z = tl.program_id(1).to(tl.int64)
    b = z // H
    h = z - b * H
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    dm = d < D
    qm = rows < S_q
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col,
        mask=qm[:, None] & dm[None, :], other=0.0,
    )
    kk = tl.arange(0, BLOCK_K).to(tl.int64)
    k_ptrs = k_ptr + b * k_batch + h * k_head + kk[None, :] * k_row + d[:, None] * k_col  # already transposed
    v_ptrs = v_ptr + b * v_batch + h * v_head + kk[:, None] * v_row + d[None, :] * v_col
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start_n in range(0, S_k, BLOCK_K):
        km = kk < S_k - start_n
        kt = tl.load(k_ptrs, mask=km[None, :] & dm[:, None], other=0.0)
        qk = tl.dot(q, kt, input_precision="ieee") * qk_scale
        qk = tl.where(km[None, :], qk, -float("inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, axis=1))
        p = tl.exp2(qk - m_ij[:, None])
        a = tl.exp2(m_i - m_ij)
        l_i = l_i * a + tl.sum(p, axis=1)
        acc = acc * a[:, None]
        v = tl.load(v_ptrs, mask=km[:, None] & dm[None, :], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc=acc, input_precision="ieee")
        m_i = m_ij
        k_ptrs += BLOCK_K * k_row
        v_ptrs += BLOCK_K * v_row
    acc = acc / l_i[:, None]
    lse = m_i + tl.log2(l_i)
    tl.store(lse_ptr + z * S_q + rows, lse, mask=qm)
    tl.store(
        o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col,
        acc.to(o_ptr.dtype.element_ty), mask=qm[:, None] & dm[None, :],
    )

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha * 1.4426950408889634, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="exp2 with a folded scale, LSE left in base 2",
    )
)

wrong(
    "flash_forward",
    "`kv = n[:, None] * k_row + d[None, :] * k_col` is used for the load of V too: V has strides v_row "
    "and v_col of its own. Wrong whenever K and V do not share a layout (e.g. K stored as columns).",
    "out_of_bounds",
)(
    written(
        """
@triton.jit
def flash_forward_kernel(
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
    row_ok = (rows < S_q)[:, None]
    d_ok = (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, row_ok & d_ok, 0.0)
    running_max = tl.zeros((BLOCK_Q,), tl.float32) - float("inf")
    running_sum = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    tiles = tl.cdiv(S_k, BLOCK_K)
    for t in range(tiles):
        n = t * BLOCK_K + keys
        n_ok = n < S_k
        kv = n[:, None] * k_row + d[None, :] * k_col
        k = tl.load(k_ptr + kv, n_ok[:, None] & d_ok, 0.0)
        v = tl.load(v_ptr + kv, n_ok[:, None] & d_ok, 0.0)
        scores = alpha * tl.dot(q, k.T, input_precision="ieee")
        scores = tl.where(n_ok[None, :], scores, -float("inf"))
        bigger = tl.maximum(running_max, tl.max(scores, axis=1))
        shrink = tl.exp(running_max - bigger)
        weights = tl.exp(scores - bigger[:, None])
        running_sum = running_sum * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        running_max = bigger
    out /= running_sum[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), row_ok & d_ok
    )
    tl.store(lse_ptr + rows, running_max + tl.log(running_sum), rows < S_q)

def flash_forward(q, k, v, alpha, block = None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
""",
        title="one offset tile for K and V",
    )
)

wrong(
    "flash_forward",
    "`p = tl.where(valid, p, 0.0)` comes after `tl.sum(p, 1)`: the padded keys are still in the "
    "denominator. For S_k that is no multiple of the tile O is too small and LSE too large.",
    "padded keys are not masked",
)(
    written(
        """
@triton.jit
def online_step(s, m, l):
    m_next = tl.maximum(m, tl.max(s, 1))
    corr = tl.exp(m - m_next)
    p = tl.exp(s - m_next[:, None])
    return p, corr, m_next, l * corr + tl.sum(p, 1)

@triton.jit
def fwd(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    qo = (head // H) * q_batch + (head % H) * q_head
    ko = (head // H) * k_batch + (head % H) * k_head
    vo = (head // H) * v_batch + (head % H) * v_head
    oo = (head // H) * o_batch + (head % H) * o_head
    i = tl.program_id(0).to(tl.int64) * TQ + tl.arange(0, TQ)
    e = tl.arange(0, TD)
    Q = tl.load(q_ptr + qo + i[:, None] * q_row + e[None, :] * q_col,
                mask=(i[:, None] < S_q) & (e[None, :] < D), other=0.0)
    m = tl.full((TQ,), -float("inf"), tl.float32)
    l = tl.zeros((TQ,), tl.float32)
    O = tl.zeros((TQ, TD), tl.float32)
    for j0 in range(0, S_k, TK):
        j = j0 + tl.arange(0, TK).to(tl.int64)
        kv_mask = (j[:, None] < S_k) & (e[None, :] < D)
        K = tl.load(k_ptr + ko + j[:, None] * k_row + e[None, :] * k_col, mask=kv_mask, other=0.0)
        V = tl.load(v_ptr + vo + j[:, None] * v_row + e[None, :] * v_col, mask=kv_mask, other=0.0)
        S = tl.dot(Q, tl.trans(K), input_precision="ieee") * alpha
        p, corr, m, l = online_step(S, m, l)
        valid = (j < S_k)[None, :]
        p = tl.where(valid, p, 0.0)
        O = O * corr[:, None] + tl.dot(p.to(V.dtype), V, input_precision="ieee")
    O = O / l[:, None]
    tl.store(o_ptr + oo + i[:, None] * o_row + e[None, :] * o_col, O.to(o_ptr.dtype.element_ty),
             mask=(i[:, None] < S_q) & (e[None, :] < D))
    tl.store(lse_ptr + head * S_q + i, m + tl.log(l), mask=i < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    T = block or 32
    fwd[(triton.cdiv(S_q, T), B * H)](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        TQ=T, TK=T, TD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="padded keys masked after the sum",
    )
)

wrong(
    "flash_forward",
    "The loads of q, k and v mask rows only. For a D that is no power of two (24, 80) lanes from D on "
    "hold the next row's numbers, and they enter the dot product q·k.",
    "D is not masked",
)(
    written(
        """
@triton.jit
def flash_forward_kernel(
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
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=(rows < S_q)[:, None], other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    start = 0
    while start < S_k:
        cols = start + keys
        cmask = cols < S_k
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=cmask[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(cmask[None, :], s * alpha, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        r = tl.exp(m - m_new)
        l = r * l + tl.sum(p, axis=1)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=cmask[:, None], other=0.0)
        acc = acc * r[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
        start += BLOCK_K
    o_mask = (rows < S_q)[:, None] & (d < D)[None, :]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, (acc / l[:, None]).to(o_ptr.dtype.element_ty),
        mask=o_mask
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
""",
        title="no d < D in the loads",
    )
)

wrong(
    "flash_forward",
    "`m_i = tl.maximum(m_i, ...)` is assigned before `rescale = tl.exp(m_old - m_i)` is formed, and "
    "m_old is read after it: rescale is always 1. Rows whose maximum moves after the first tile are "
    "wrong (S_k > BLOCK_K).",
    "nothing rescaled",
)(
    written(
        """
@triton.jit
def flash_forward_kernel(
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
    is_row, is_d = rows < S_q, d < D
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=is_row[:, None] & is_d[None, :], other=0.0
    )
    m_i = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        col = start + keys
        is_key = col < S_k
        k = tl.load(
            k_ptr + col[:, None] * k_row + d[None, :] * k_col,
            mask=is_key[:, None] & is_d[None, :], other=0.0
        )
        v = tl.load(
            v_ptr + col[:, None] * v_row + d[None, :] * v_col,
            mask=is_key[:, None] & is_d[None, :], other=0.0
        )
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(is_key[None, :], s, float("-inf"))
        m_i = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp(s - m_i[:, None])
        m_old = m_i
        rescale = tl.exp(m_old - m_i)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    o = acc / l_i[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty),
        mask=is_row[:, None] & is_d[None, :]
    )
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=is_row)

def flash_forward(
    q, k, v, alpha, block = None
):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
""",
        title="maximum overwritten before the rescale",
    )
)
