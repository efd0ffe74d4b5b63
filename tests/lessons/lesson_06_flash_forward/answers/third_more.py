"""Answers to lesson 06, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "flash_forward",
    "`acc = (acc * c + p v) / l` divides by l in each tile without multiplying the old acc by the old l "
    "first (as FlashAttention 1 does): earlier tiles are divided several times. Wrong as soon as S_k "
    "needs two tiles.",
    "divided in every step",
)(
    written(
        """
@triton.jit
def kern(
    Q, K, V, O, L, scale, H, M, N, D,
    s_qz, s_qh, s_qm, s_qk, s_kz, s_kh, s_kn, s_kk,
    s_vz, s_vh, s_vn, s_vk, s_oz, s_oh, s_om, s_ok,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_DMODEL: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    z = (off_hz // H).to(tl.int64)
    h = (off_hz % H).to(tl.int64)
    offs_m = start_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_k = tl.arange(0, BLOCK_DMODEL)
    kmask = offs_k[None, :] < D
    q = tl.load(Q + z * s_qz + h * s_qh + offs_m[:, None] * s_qm + offs_k[None, :] * s_qk,
                mask=(offs_m[:, None] < M) & kmask, other=0.0)
    kp = K + z * s_kz + h * s_kh
    vp = V + z * s_vz + h * s_vh
    m_prev = tl.full([BLOCK_M], -float("inf"), tl.float32)
    l_prev = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DMODEL], tl.float32)
    for start_n in range(0, N, BLOCK_N):
        n = start_n + offs_n
        k = tl.load(kp + n[:, None] * s_kn + offs_k[None, :] * s_kk, mask=(n[:, None] < N) & kmask, other=0.0)
        qk = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        qk = tl.where(n[None, :] < N, qk, -float("inf"))
        m_curr = tl.maximum(tl.max(qk, 1), m_prev)
        c = tl.exp(m_prev - m_curr)
        p = tl.exp(qk - m_curr[:, None])
        l_curr = tl.sum(p, 1) + l_prev * c
        v = tl.load(vp + n[:, None] * s_vn + offs_k[None, :] * s_vk, mask=(n[:, None] < N) & kmask, other=0.0)
        acc = (acc * c[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")) / l_curr[:, None]
        l_prev = l_curr
        m_prev = m_curr
    tl.store(L + off_hz.to(tl.int64) * M + offs_m, m_prev + tl.log(l_prev), mask=offs_m < M)
    tl.store(O + z * s_oz + h * s_oh + offs_m[:, None] * s_om + offs_k[None, :] * s_ok,
             acc.to(O.dtype.element_ty), mask=(offs_m[:, None] < M) & kmask)

def flash_forward(q, k, v, alpha, block=None):
    B, H, M, D = q.shape
    N = k.shape[2]
    o = torch.empty((B, H, M, D), device=q.device, dtype=q.dtype)
    L = torch.empty((B, H, M), device=q.device, dtype=torch.float32)
    BLK = block or 32
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), B * H)
    kern[grid](
        q, k, v, o, L, alpha, H, M, N, D,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        o.stride(0), o.stride(1), o.stride(2), o.stride(3),
        BLOCK_M=BLK, BLOCK_N=BLK, BLOCK_DMODEL=max(16, triton.next_power_of_2(D)),
    )
    return o, L
""",
        title="normalised in every tile",
    )
)

wrong(
    "flash_forward",
    "The grid is (blocks, H, B) but the kernel takes b from axis 1 and h from axis 2. Right for B = H "
    "only; otherwise heads are left out and addresses beyond the tensor are touched (B 1, H 2).",
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
    b = tl.program_id(1).to(tl.int64)
    h = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    d_mask = d[None, :] < D
    q_mask = (rows[:, None] < S_q) & d_mask
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_mask, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        c = start + keys
        mask = (c[:, None] < S_k) & d_mask
        k = tl.load(k_ptr + c[:, None] * k_row + d[None, :] * k_col, mask=mask, other=0.0)
        v = tl.load(v_ptr + c[:, None] * v_row + d[None, :] * v_col, mask=mask, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = s + tl.where(c < S_k, 0.0, -float("inf"))[None, :]
        mn = tl.maximum(m, tl.max(s, axis=1))
        w = tl.exp(m - mn)
        p = tl.exp(s - mn[:, None])
        l = l * w + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * w[:, None], input_precision="ieee")
        m = mn
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, (acc / l[:, None]).to(o_ptr.dtype.element_ty),
        mask=q_mask
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="3-D grid, batch and head exchanged",
    )
)

wrong(
    "flash_forward",
    "`biggest = tl.zeros(...)`: the maximum starts at 0, not at -inf. A row whose scores all lie below "
    "about -104 underflows: l = 0, O = 0/0, LSE = -inf.",
    "m starts at 0",
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
    q_in = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_in, other=0.0)
    biggest = tl.zeros((BLOCK_Q,), tl.float32)
    denom = tl.zeros((BLOCK_Q,), tl.float32)
    numer = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for tile in range(tl.cdiv(S_k, BLOCK_K)):
        c = tile * BLOCK_K + keys
        live = c < S_k
        kT = tl.load(
            k_ptr + d[:, None] * k_col + c[None, :] * k_row,
            mask=(d < D)[:, None] & live[None, :], other=0.0
        )
        v = tl.load(
            v_ptr + c[:, None] * v_row + d[None, :] * v_col,
            mask=live[:, None] & (d < D)[None, :], other=0.0
        )
        s = alpha * tl.dot(q, kT, input_precision="ieee")
        s = tl.where(live[None, :], s, float("-inf"))
        new = tl.maximum(biggest, tl.max(s, axis=1))
        old_share = tl.exp(biggest - new)
        p = tl.exp(s - new[:, None])
        denom = denom * old_share + tl.sum(p, axis=1)
        numer = numer * old_share[:, None]
        numer += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        biggest = new
    o = numer / denom[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=q_in)
    tl.store(lse_ptr + rows, biggest + tl.log(denom), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block = None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="running maximum starts at zero",
    )
)

wrong(
    "flash_forward",
    "`p.to(tl.float16)` in the second tl.dot: with V in bf16 or fp32 the operands have two dtypes and "
    "the kernel does not compile. Write p.to(v.dtype).",
    "P cast to fp16 whatever V is",
)(
    written(
        """
@triton.jit
def _attn_fwd(
    sm_scale, Lse, Q, K, V, Out, H, N_Q, N_KV, HEAD,
    stride_qz, stride_qh, stride_qm, stride_qk,
    stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk,
    stride_oz, stride_oh, stride_om, stride_ok,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H
    Q += off_z.to(tl.int64) * stride_qz + off_h.to(tl.int64) * stride_qh
    K += off_z.to(tl.int64) * stride_kz + off_h.to(tl.int64) * stride_kh
    V += off_z.to(tl.int64) * stride_vz + off_h.to(tl.int64) * stride_vh
    Out += off_z.to(tl.int64) * stride_oz + off_h.to(tl.int64) * stride_oh
    offs_m = (start_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, HEAD_DIM)
    inner = offs_d < HEAD
    q = tl.load(Q + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qk,
                mask=(offs_m < N_Q)[:, None] & inner[None, :], other=0.0)
    k_ptrs = K + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kk
    v_ptrs = V + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vk
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for start_n in range(0, N_KV, BLOCK_N):
        live = (start_n + offs_n) < N_KV
        k = tl.load(k_ptrs, mask=live[:, None] & inner[None, :], other=0.0)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * sm_scale
        qk += tl.where(live[None, :], 0, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp(qk - m_ij[:, None])
        corr = tl.math.exp(m_i - m_ij)
        l_i = l_i * corr + tl.sum(p, 1)
        acc = acc * corr[:, None]
        v = tl.load(v_ptrs, mask=live[:, None] & inner[None, :], other=0.0)
        p = p.to(tl.float16)
        acc = tl.dot(p, v, acc, input_precision="ieee")
        m_i = m_ij
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    m_i += tl.math.log(l_i)
    acc = acc / l_i[:, None]
    tl.store(Lse + off_hz.to(tl.int64) * N_Q + offs_m, m_i, mask=offs_m < N_Q)
    tl.store(Out + offs_m[:, None] * stride_om + offs_d[None, :] * stride_ok,
             acc.to(Out.type.element_ty), mask=(offs_m < N_Q)[:, None] & inner[None, :])

def flash_forward(q, k, v, alpha, block=None):
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], device=q.device, dtype=torch.float32)
    BLOCK = block or 32
    _attn_fwd[(triton.cdiv(q.shape[2], BLOCK), q.shape[0] * q.shape[1])](
        alpha, lse, q, k, v, o, q.shape[1], q.shape[2], k.shape[2], q.shape[3],
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_M=BLOCK, BLOCK_N=BLOCK, HEAD_DIM=max(16, triton.next_power_of_2(q.shape[3])),
    )
    return o, lse
""",
        title="p cast to fp16 by name",
    )
)

wrong(
    "flash_forward",
    "The loop runs `S_k // BLOCK_K` times, so the last ragged tile of keys is left out (S_k = 3: no tile "
    "at all); and the LSE is stored as `m - tl.log(l)`, the sign of the logarithm is wrong for every row "
    "with more than one key.",
    "log l is subtracted + loop ends one tile early",
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
    mask_q = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mask_q, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    o = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for step in range(S_k // BLOCK_K):
        j = step * BLOCK_K + keys
        mask_k = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=mask_k, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=mask_k, other=0.0)
        x = tl.where(
            (j < S_k)[None, :], alpha * tl.dot(q, tl.trans(k), input_precision="ieee"), -float("inf")
        )
        top = tl.maximum(m, tl.max(x, axis=1))
        f = tl.exp(m - top)
        e = tl.exp(x - top[:, None])
        l = f * l + tl.sum(e, axis=1)
        o = f[:, None] * o + tl.dot(e.to(v.dtype), v, input_precision="ieee")
        m = top
    o = o / l[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=mask_q)
    tl.store(lse_ptr + rows, m - tl.log(l), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="two mistakes: whole tiles only, and LSE = m - log l",
    )
)

wrong(
    "flash_forward",
    "`scale = 1.0 / D ** 0.5` in the launcher replaces the argument alpha, so any other alpha (a "
    "negative one) is ignored; and `tl.store(lse_ptr + rows, ...)` has no mask, so for ragged S_q it "
    "writes over the next head's LSE or beyond the tensor.",
    "out_of_bounds + alpha's sign is lost",
)(
    written(
        """
@triton.jit
def fa_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, H, S_q, S_k, D,
    qb, qh, qr, qc, kb, kh, kr, kc, vb, vh, vr, vc, ob, oh, orow, oc,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    n_blocks = tl.cdiv(S_q, BLOCK_Q)
    pid = tl.program_id(0)
    blk = pid % n_blocks
    bh = (pid // n_blocks).to(tl.int64)
    b = bh // H
    h = bh % H
    rows = blk.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    row_in = rows < S_q
    d_in = d < D
    q = tl.load(q_ptr + b * qb + h * qh + rows[:, None] * qr + d[None, :] * qc,
                mask=row_in[:, None] & d_in[None, :], other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for s0 in range(0, S_k, BLOCK_K):
        n = s0 + tl.arange(0, BLOCK_K).to(tl.int64)
        n_in = n < S_k
        k = tl.load(
            k_ptr + b * kb + h * kh + n[:, None] * kr + d[None, :] * kc,
            mask=n_in[:, None] & d_in[None, :], other=0.0
        )
        v = tl.load(
            v_ptr + b * vb + h * vh + n[:, None] * vr + d[None, :] * vc,
            mask=n_in[:, None] & d_in[None, :], other=0.0
        )
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(n_in[None, :], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        alpha_ = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        l = l * alpha_ + tl.sum(p, 1)
        acc = acc * alpha_[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    acc = acc / l[:, None]
    tl.store(o_ptr + b * ob + h * oh + rows[:, None] * orow + d[None, :] * oc,
             acc.to(o_ptr.dtype.element_ty), mask=row_in[:, None] & d_in[None, :])
    lse_ptr += bh * S_q
    tl.store(lse_ptr + rows, m + tl.log(l))

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    scale = 1.0 / D ** 0.5
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    fa_kernel[(triton.cdiv(S_q, BLOCK) * B * H,)](
        q, k, v, o, lse, scale, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="two mistakes: own 1/sqrt(D), and LSE stored without a mask",
    )
)

right("flash_forward", "while loop, 3-D grid, l starts at 1")(
    written("""
@triton.jit
def attention_rows(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1).to(tl.int64)
    i = tl.program_id(2).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    d_in = (d < D)[None, :]
    q_in = (i < S_q)[:, None] & d_in
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + i[:, None] * q_row + d[None, :] * q_col, mask=q_in, other=0.0
    )
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.full((BLOCK_Q,), 1.0, tl.float32)  # whatever it is, the first rescale is exp(-inf) = 0
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    done = 0
    while done < S_k:
        j = done + tl.arange(0, BLOCK_K).to(tl.int64)
        real = j < S_k
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=real[:, None] & d_in, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = s + tl.where(real, 0.0, -float("inf"))[None, :]
        m_next = tl.maximum(tl.max(s, axis=1), m)
        p = tl.exp(s - m_next[:, None])
        old = tl.exp(m - m_next)
        l = tl.sum(p, axis=1) + old * l
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=real[:, None] & d_in, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc=acc * old[:, None], input_precision="ieee")
        m = m_next
        done += BLOCK_K
    o = acc * (1.0 / l)[:, None]
    tl.store(o_ptr + b * o_batch + h * o_head + i[:, None] * o_row + d[None, :] * o_col,
             o.to(o_ptr.dtype.element_ty), mask=q_in)
    tl.store(lse_ptr + (b * tl.num_programs(1) + h) * S_q + i, m + tl.log(l), mask=i < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    attention_rows[(B, H, triton.cdiv(S_q, BLOCK))](
        q, k, v, o, lse, alpha, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""")
)

right("flash_forward", "everything transposed, keys down and queries across")(
    written("""
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
    qt_in = (d < D)[:, None] & (rows < S_q)[None, :]
    qt = tl.load(q_ptr + d[:, None] * q_col + rows[None, :] * q_row, mask=qt_in, other=0.0)  # (D, Q)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acct = tl.zeros((BLOCK_D, BLOCK_Q), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        n = start + keys
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col,
                    mask=(n < S_k)[:, None] & (d < D)[None, :], other=0.0)
        vt = tl.load(v_ptr + d[:, None] * v_col + n[None, :] * v_row,
                     mask=(d < D)[:, None] & (n < S_k)[None, :], other=0.0)
        st = alpha * tl.dot(k, qt, input_precision="ieee")  # (K, Q)
        st = tl.where((n < S_k)[:, None], st, -float("inf"))
        m_new = tl.maximum(m, tl.max(st, axis=0))
        r = tl.exp(m - m_new)
        pt = tl.exp(st - m_new[None, :])
        l = l * r + tl.sum(pt, axis=0)
        acct = acct * r[None, :] + tl.dot(vt, pt.to(vt.dtype), input_precision="ieee")
        m = m_new
    ot = acct / l[None, :]
    tl.store(o_ptr + d[:, None] * o_col + rows[None, :] * o_row, ot.to(o_ptr.dtype.element_ty), mask=qt_in)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block = None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""")
)
