"""Answers to lesson 06, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "flash_forward",
    "`l_i = l_i * rescale + tl.sum(w.to(tl.float32), axis=1)` sums the weights after they were "
    "rounded to v's dtype, so LSE carries fp16/bf16 rounding",
    "precision",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_Q rows of Q and all of K and V of its head; writes as many rows of O and of LSE
    # the grid is (blocks of queries, H, B); one of (blocks of queries, B · H) gives the same h and b
    h = (tl.program_id(1) % H).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = (tl.program_id(2) + tl.program_id(1) // H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q  # lse is contiguous, [B, H, S_q]

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    ok_q = rows < S_q
    ok_d = d < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok_q[:, None] & ok_d[None, :], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        cols = start + keys
        ok_k = cols < S_k
        kt = tl.load(k_ptr + d[:, None] * k_col + cols[None, :] * k_row, mask=ok_d[:, None] & ok_k[None, :], other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=ok_k[:, None] & ok_d[None, :], other=0.0)
        s = tl.dot(q, kt, input_precision="ieee") * alpha
        s = tl.where(ok_k[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        w = tl.exp(s - m_new[:, None]).to(v.dtype)
        rescale = tl.exp(m_i - m_new)
        l_i = l_i * rescale + tl.sum(w.to(tl.float32), axis=1)
        acc = tl.dot(w, v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, (acc / l_i[:, None]).to(o_ptr.dtype.element_ty),
             mask=ok_q[:, None] & ok_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=ok_q)


def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype, and LSE [B, H, S_q] in fp32; every query sees all S_k ≥ 1 keys."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
''',
        title="sum of the rounded p",
    )
)

wrong(
    "flash_forward",
    "`q = (q * alpha).to(q.dtype)` rounds alpha q to the input's half precision before the "
    "product; scores and LSE are off by a rounding of q",
    "precision",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_Q rows of Q and all of K and V of its head; writes as many rows of O and of LSE
    # the grid is (blocks of queries, H, B); one of (blocks of queries, B · H) gives the same h and b
    h = (tl.program_id(1) % H).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = (tl.program_id(2) + tl.program_id(1) // H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q  # lse is contiguous, [B, H, S_q]

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    inside_q = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=inside_q, other=0.0)
    q = (q * alpha).to(q.dtype)  # scale once per row, not once per score
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.full((BLOCK_Q,), 0.0, tl.float32)
    o = tl.full((BLOCK_Q, BLOCK_D), 0.0, tl.float32)
    for first in range(0, tl.cdiv(S_k, BLOCK_K)):
        j = first * BLOCK_K + keys
        inside = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=inside, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=inside, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((j < S_k)[None, :], s, -float("inf"))
        m_next = tl.maximum(m, tl.max(s, axis=1))
        shrink = tl.exp(m - m_next)
        p = tl.exp(s - m_next[:, None])
        l = shrink * l + tl.sum(p, axis=1)
        o = shrink[:, None] * o + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_next
    o = o / l[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=inside_q)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype, and LSE [B, H, S_q] in fp32; every query sees all S_k ≥ 1 keys."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
''',
        title="alpha folded into half q",
    )
)

wrong(
    "flash_forward_causal",
    "`cols[None, :] < seen_to[:, None]` hides the query's own key: the mask is j ≤ i + S_k − S_q",
    "the diagonal is hidden",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    ok_q = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok_q, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    seen_to = rows + (S_k - S_q)
    stop = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + BLOCK_Q + (S_k - S_q))
    for start in range(0, stop, BLOCK_K):
        cols = start + keys
        ok_k = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=ok_k, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=ok_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((cols < S_k)[None, :] & (cols[None, :] < seen_to[:, None]), s, -float("inf"))
        new = tl.maximum(m, tl.max(s, axis=1))
        unit = tl.where(new == -float("inf"), 0.0, new)
        f = tl.exp(m - unit)
        p = tl.exp(s - unit[:, None])
        l = l * f + tl.sum(p, axis=1)
        acc = acc * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = new
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=ok_q)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


def flash_forward_causal(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    """The same where query i sees the keys j ≤ i + S_k − S_q; O = 0 and LSE = −inf where that is none."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
''',
        title="strictly before",
    )
)

wrong(
    "flash_forward_either",
    "`offset = S_q - S_k` has the wrong sign, in the loop's end and in the mask; it should be S_k − S_q",
    "S_k − S_q with the wrong sign",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def flash_forward_either_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # if IS_CAUSAL, query i sees the keys j ≤ i + S_k − S_q, else all of them
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    LOG2E: tl.constexpr = 1.4426950408889634
    in_queries = rows < S_q
    in_d = d < D
    q_tile = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    offset = S_q - S_k
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + offset)
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        if IS_CAUSAL:
            s = tl.where(columns[None, :] <= rows[:, None] + offset, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = m_new
        if IS_CAUSAL:  # nothing seen yet: -inf + inf would be NaN
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        rescale = tl.exp(m_i - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    divisor = l_i
    if IS_CAUSAL:
        divisor = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    o = acc / divisor[:, None]
    o_tile = rows[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=in_queries[:, None] & in_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf


def flash_forward_either(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; `causal` hides later keys, bottom-right."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_either_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        IS_CAUSAL=causal, BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
''',
        title="shift with the wrong sign",
    )
)

right("flash_forward_either", "causal mask hides padding too")(
    written(
        '''
from torch import Tensor


@triton.jit
def flash_forward_either_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # if IS_CAUSAL, query i sees the keys j ≤ i + S_k − S_q, else all of them
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    real = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=real, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last = tl.full((BLOCK_Q,), 0, tl.int32) + (S_k - 1)
    stop = S_k
    if IS_CAUSAL:
        last = rows + (S_k - S_q)
        stop = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + BLOCK_Q + S_k - S_q)
    for start in range(0, stop, BLOCK_K):
        j = start + keys
        there = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=there, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=there, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = tl.where(j[None, :] <= last[:, None], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        safe = tl.where(m_new > -float("inf"), m_new, 0.0)
        factor = tl.exp(m - safe)
        p = tl.exp(s - safe[:, None])
        l = l * factor + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * factor[:, None], input_precision="ieee")
        m = m_new
    acc = acc / tl.where(l > 0.0, l, 1.0)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, acc.to(o_ptr.dtype.element_ty), mask=real)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


def flash_forward_either(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; `causal` hides later keys, bottom-right."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_either_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        IS_CAUSAL=causal, BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
'''
    )
)
