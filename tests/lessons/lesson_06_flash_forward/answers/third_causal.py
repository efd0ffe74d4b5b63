"""Answers to the causal kernels of lesson 06, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "flash_forward_causal",
    "Both `offs_m[:, None] >= n[None, :]` and `hi = min(S_k, (pid + 1) * BM)` leave out S_k - S_q: the "
    "mask is aligned top-left. Right for S_q = S_k only; for S_q = 40, S_k = 70 the last 30 keys are "
    "seen by nobody.",
    "top-left alignment",
)(
    written(
        """
@triton.jit
def causal_fwd(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    pid = tl.program_id(0)
    hz = tl.program_id(1).to(tl.int64)
    z = hz // H
    h = hz % H
    offs_m = pid.to(tl.int64) * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, BD)
    q = tl.load(q_ptr + z * q_batch + h * q_head + offs_m[:, None] * q_row + offs_d[None, :] * q_col,
                mask=(offs_m[:, None] < S_q) & (offs_d[None, :] < D), other=0.0)
    m_i = tl.full((BM,), -float("inf"), tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    hi = tl.minimum(S_k, (pid + 1) * BM)
    for start in range(0, hi, BN):
        n = start + tl.arange(0, BN).to(tl.int64)
        ok = (n[:, None] < S_k) & (offs_d[None, :] < D)
        k = tl.load(
            k_ptr + z * k_batch + h * k_head + n[:, None] * k_row + offs_d[None, :] * k_col,
            mask=ok, other=0.0
        )
        v = tl.load(
            v_ptr + z * v_batch + h * v_head + n[:, None] * v_row + offs_d[None, :] * v_col,
            mask=ok, other=0.0
        )
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((offs_m[:, None] >= n[None, :]) & (n[None, :] < S_k), s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        c = tl.exp(m_i - safe)
        p = tl.exp(s - safe[:, None])
        l_i = l_i * c + tl.sum(p, 1)
        acc = acc * c[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    acc = acc / l_safe[:, None]
    tl.store(o_ptr + z * o_batch + h * o_head + offs_m[:, None] * o_row + offs_d[None, :] * o_col,
             acc.to(o_ptr.dtype.element_ty), mask=(offs_m[:, None] < S_q) & (offs_d[None, :] < D))
    tl.store(lse_ptr + hz * S_q + offs_m, m_i + tl.log(l_i), mask=offs_m < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLK = block or 32
    causal_fwd[(triton.cdiv(S_q, BLK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BM=BLK, BN=BLK, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="top-left alignment",
    )
)

wrong(
    "flash_forward_causal",
    "Hidden scores get -1.0e6 instead of -inf: a query that sees nothing but shares a block with others "
    "(S_q > S_k) finds all its scores equal and attends to every key of its tiles. O is a mean of hidden "
    "values, not 0, and LSE about -1e6, not -inf.",
    "a finite number for −inf",
)(
    written(
        """
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
    qm = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=qm, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    shift = S_k - S_q
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + shift)
    for start in range(0, end, BLOCK_K):
        cols = start + keys
        km = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=km, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=km, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        mask = (rows[:, None] + shift >= cols[None, :]) & (cols[None, :] < S_k)
        s = tl.where(mask, s, -1.0e6)
        m_new = tl.maximum(m, tl.max(s, axis=1))
        rescale = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        l = l * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    acc = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, acc.to(o_ptr.dtype.element_ty), mask=qm)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block = None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_causal_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="-1.0e6 in place of infinity",
    )
)

wrong(
    "flash_forward_causal",
    "`acc / l[:, None]` has no guard: a query that sees nothing (S_q > S_k) has l = 0 and acc = 0, and "
    "its O is 0/0 = NaN instead of 0.",
    "zero over zero",
    "rows that see nothing are NaN",
)(
    written(
        """
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
    row_m = rows[:, None] < S_q
    d_m = d[None, :] < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=row_m & d_m, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    limit = rows + (S_k - S_q) + 1  # number of keys that each query sees
    stop = tl.minimum((tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q, S_k)
    j = 0
    while j < stop:
        n = j + keys
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=(n[:, None] < S_k) & d_m, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=(n[:, None] < S_k) & d_m, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = tl.where(n[None, :] < limit[:, None], s, -float("inf"))
        s = tl.where(n[None, :] < S_k, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new > -float("inf"), m_new, 0.0)
        p = tl.exp(s - base[:, None])
        w = tl.exp(m - base)
        l = w * l + tl.sum(p, axis=1)
        acc = w[:, None] * acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
        j += BLOCK_K
    o = acc / l[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=row_m & d_m
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_causal_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="maximum guarded, division not",
    )
)

wrong(
    "flash_forward_causal",
    "`whole = tl.cdiv(first_seen, BLOCK) * BLOCK` rounds up: when the shift S_k - S_q is no multiple of "
    "the tile, the last tile of the stage without a mask is crossed by the diagonal (S_q 40, S_k 70), "
    "and queries see later keys. It has to round down.",
    "leak from the future",
    "only whole tiles are hidden",
)(
    written(
        """
@triton.jit
def inner(q, m, l, acc, k_ptr, v_ptr, alpha, rows, lo, hi, shift, S_k, D,
          k_row, k_col, v_row, v_col, MASKED: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr):
    d = tl.arange(0, BLOCK_D)
    for start in range(lo, hi, BLOCK):
        n = start + tl.arange(0, BLOCK).to(tl.int64)
        ok = (n[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=ok, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        if MASKED:
            s = tl.where(n[None, :] <= rows[:, None] + shift, s, -float("inf"))
        s = tl.where(n[None, :] < S_k, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        sub = tl.where(m_new == -float("inf"), 0.0, m_new)
        c = tl.exp(m - sub)
        p = tl.exp(s - sub[:, None])
        l = l * c + tl.sum(p, 1)
        acc = acc * c[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    return m, l, acc

@triton.jit
def outer(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    b = bh // H
    h = bh % H
    rows = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BLOCK_D)
    mask = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col, mask=mask, other=0.0
    )
    kp = k_ptr + b * k_batch + h * k_head
    vp = v_ptr + b * v_batch + h * v_head
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    shift = S_k - S_q
    end = tl.minimum(S_k, (pid + 1) * BLOCK + shift)
    first_seen = tl.maximum(0, pid * BLOCK + shift)  # what the block's first query sees
    whole = tl.minimum(tl.cdiv(first_seen, BLOCK) * BLOCK, end)
    m, l, acc = inner(q, m, l, acc, kp, vp, alpha, rows, 0, whole, shift, S_k, D,
                      k_row, k_col, v_row, v_col, False, BLOCK, BLOCK_D)
    m, l, acc = inner(q, m, l, acc, kp, vp, alpha, rows, whole, end, shift, S_k, D,
                      k_row, k_col, v_row, v_col, True, BLOCK, BLOCK_D)
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col,
             o.to(o_ptr.dtype.element_ty), mask=mask)
    tl.store(lse_ptr + bh * S_q + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    outer[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="two-stage loop, unmasked stage too long",
    )
)

wrong(
    "flash_forward_causal",
    "`last = (pid + 1) * BLOCK_K + S_k - S_q` should count queries, (pid + 1) * BLOCK_Q. The launcher "
    "takes BLOCK_Q = 32 and BLOCK_K = 16, so the loop ends too early and the later queries of S = 128 "
    "lose keys.",
    "a tile on the diagonal is skipped",
    "loop ends one tile early",
)(
    written(
        """
@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = pid.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    in_d = (d < D)[None, :]
    in_q = (rows < S_q)[:, None] & in_d
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_q, other=0.0)
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last = (pid + 1) * BLOCK_K + S_k - S_q
    for start in range(0, tl.minimum(last, S_k), BLOCK_K):
        cols = start + keys
        in_k = (cols < S_k)[:, None] & in_d
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=in_k, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=in_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        visible = (cols[None, :] - rows[:, None] <= S_k - S_q) & (cols < S_k)[None, :]
        s = tl.where(visible, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        ref = tl.where(new_top == -float("inf"), 0.0, new_top)
        fade = tl.exp(top - ref)
        p = tl.exp(s - ref[:, None])
        total = total * fade + tl.sum(p, axis=1)
        acc = acc * fade[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new_top
    empty = total == 0.0
    o = tl.where(empty[:, None], 0.0, acc / tl.where(empty, 1.0, total)[:, None])
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=in_q)
    tl.store(lse_ptr + rows, top + tl.log(total), mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK_Q = block or 32
    BLOCK_K = 16
    flash_forward_causal_kernel[(triton.cdiv(S_q, BLOCK_Q), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="loop end counted in tiles of keys",
    )
)

wrong(
    "flash_forward_causal",
    "The mask compares with `rows + S_q - S_k`; it must be rows + S_k - S_q, which only S_q = S_k "
    "forgives. And `tl.where(l == 0.0, 0.0, ...)` stores LSE = 0 for a row that sees nothing, where the "
    "text asks for -inf.",
    "S_k − S_q with the wrong sign + LSE of empty rows is 0",
)(
    written(
        """
@triton.jit
def causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    H = tl.num_programs(1)
    rows = pid.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    keep = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col, mask=keep, other=0.0
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = tl.minimum(S_k, (pid + 1) * BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K).to(tl.int64)
        kv_keep = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(
            k_ptr + b * k_batch + h * k_head + cols[:, None] * k_row + d[None, :] * k_col,
            mask=kv_keep, other=0.0
        )
        v = tl.load(
            v_ptr + b * v_batch + h * v_head + cols[:, None] * v_row + d[None, :] * v_col,
            mask=kv_keep, other=0.0
        )
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((cols[None, :] <= (rows + S_q - S_k)[:, None]) & (cols < S_k)[None, :], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        z = tl.where(m_new == -float("inf"), 0.0, m_new)
        a = tl.exp(m - z)
        p = tl.exp(s - z[:, None])
        l = l * a + tl.sum(p, axis=1)
        acc = acc * a[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    l_ok = tl.where(l == 0.0, 1.0, l)
    tl.store(o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col,
             (acc / l_ok[:, None]).to(o_ptr.dtype.element_ty), mask=keep)
    lse = tl.where(l == 0.0, 0.0, m + tl.log(l_ok))
    tl.store(lse_ptr + (b * H + h) * S_q + rows, lse, mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="two mistakes: shift of the wrong sign in the mask, and LSE 0 for empty rows",
    )
)

right("flash_forward_causal", "exp2, right to left")(
    written("""
@triton.jit
def causal_backwards_walk(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    LOG2E: tl.constexpr = 1.4426950408889634
    LN2: tl.constexpr = 0.6931471805599453
    pid = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    b = bh // H
    h = bh % H
    rows = pid.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    mine = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = tl.minimum(S_k, (pid + 1) * BLOCK_Q + S_k - S_q)
    count = tl.cdiv(tl.maximum(end, 0), BLOCK_K)
    for t in range(0, count):
        n = (count - 1 - t) * BLOCK_K + tl.arange(0, BLOCK_K).to(tl.int64)
        kv_in = (n < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(
            k_ptr + b * k_batch + h * k_head + n[:, None] * k_row + d[None, :] * k_col,
            mask=kv_in, other=0.0
        )
        v = tl.load(
            v_ptr + b * v_batch + h * v_head + n[:, None] * v_row + d[None, :] * v_col,
            mask=kv_in, other=0.0
        )
        x = (alpha * LOG2E) * tl.dot(q, tl.trans(k), input_precision="ieee")
        hidden = (n[None, :] > rows[:, None] + (S_k - S_q)) | (n >= S_k)[None, :]
        x = tl.where(hidden, -float("inf"), x)
        m_new = tl.maximum(m, tl.max(x, axis=1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        old = tl.exp2(m - base)
        p = tl.exp2(x - base[:, None])
        l = l * old + tl.sum(p, axis=1)
        acc = acc * old[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    some = l > 0.0
    l_div = tl.where(some, l, 1.0)
    tl.store(o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col,
             (acc / l_div[:, None]).to(o_ptr.dtype.element_ty), mask=mine)
    lse = tl.where(some, LN2 * (m + tl.log2(l_div)), -float("inf"))
    tl.store(lse_ptr + bh * S_q + rows, lse, mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    causal_backwards_walk[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""")
)
