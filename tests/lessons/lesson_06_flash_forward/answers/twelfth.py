"""Answers to lesson 06, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "flash_forward_causal",
    "masked scores are −1e9 instead of −inf (a torch habit): in a row that sees no key all of "
    "them are equal, so O is a mean of V and LSE −1e9 instead of 0 and −inf.",
    "a finite number for −inf",
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
    LOG2E: tl.constexpr = 1.4426950408889634
    in_queries = rows < S_q
    in_d = d < D
    q_tile = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = in_keys[None, :] & (columns[None, :] <= last_seen[:, None])
        s = tl.where(seen, s, -1.0e9)
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
        rescale = tl.exp(m_i - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]  # a query that saw nothing: 0 / 1
    o_tile = rows[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=in_queries[:, None] & in_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf


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
        title="big negative number",
    )
)

wrong(
    "flash_forward_causal",
    "two: `<` instead of `<=` hides the diagonal, and acc is divided by l_i without a guard, so a"
    " query that sees nothing gets 0 / 0.",
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
    LOG2E: tl.constexpr = 1.4426950408889634
    in_queries = rows < S_q
    in_d = d < D
    q_tile = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = in_keys[None, :] & (columns[None, :] < last_seen[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
        rescale = tl.exp(m_i - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / l_i[:, None]  # a query that saw nothing: 0 / 1
    o_tile = rows[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=in_queries[:, None] & in_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf


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
        title="strictly earlier no division guard",
    )
)

wrong(
    "flash_forward_causal",
    "the mask is `columns <= rows`, aligned top-left as torch's is_causal, and the loop end "
    "follows it: wrong wherever S_q ≠ S_k.",
    "top-left alignment",
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
    LOG2E: tl.constexpr = 1.4426950408889634
    in_queries = rows < S_q
    in_d = d < D
    q_tile = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q)  # one past what the last query sees
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = in_keys[None, :] & (columns[None, :] <= last_seen[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
        rescale = tl.exp(m_i - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]  # a query that saw nothing: 0 / 1
    o_tile = rows[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=in_queries[:, None] & in_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf


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
        title="top left",
    )
)

wrong(
    "flash_forward_either",
    "the mask of keys beyond S_k stands inside `if IS_CAUSAL:` together with the causal one; "
    "without causal the padded keys count.",
    "padded keys are not masked",
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
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # past what the last query sees
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        if IS_CAUSAL:
            s = tl.where(in_keys[None, :], s, -float("inf"))
            s = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, s, -float("inf"))
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
        title="ragged mask only causal",
    )
)

wrong(
    "flash_forward",
    "scores are in base 2 (`* 1.44269504`), and LSE is stored as `run_max + tl.log2(run_sum)` "
    "without going back to the natural logarithm.",
    "LSE in base 2",
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
    okq = rows < S_q
    okd = d < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=okq[:, None] & okd[None, :], other=0.0)
    run_max = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    run_sum = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        kt = tl.load(k_ptr + d[:, None] * k_col + j[None, :] * k_row, mask=okd[:, None] & okk[None, :], other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=okk[:, None] & okd[None, :], other=0.0)
        z = tl.dot(q, kt, input_precision="ieee") * (alpha * 1.4426950408889634)
        z = tl.where(okk[None, :], z, float("-inf"))
        new = tl.maximum(run_max, tl.max(z, axis=1))
        c = tl.exp2(run_max - new)
        w = tl.exp2(z - new[:, None])
        run_sum = run_sum * c + tl.sum(w, axis=1)
        out = out * c[:, None]
        out += tl.dot(w.to(v.dtype), v, input_precision="ieee")
        run_max = new
    out = out / run_sum[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), mask=okq[:, None] & okd[None, :])
    tl.store(lse_ptr + rows, run_max + tl.log2(run_sum), mask=okq)


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
        title="lse in base two",
    )
)

wrong(
    "flash_forward",
    "the padded keys get −inf before the product with alpha (`z = tl.where(...) * alpha`): a "
    "negative alpha turns −inf into +inf.",
    "one edit",
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
    okq = rows < S_q
    okd = d < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=okq[:, None] & okd[None, :], other=0.0)
    run_max = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    run_sum = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        kt = tl.load(k_ptr + d[:, None] * k_col + j[None, :] * k_row, mask=okd[:, None] & okk[None, :], other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=okk[:, None] & okd[None, :], other=0.0)
        z = tl.dot(q, kt, input_precision="ieee")
        z = tl.where(okk[None, :], z, float("-inf")) * alpha
        new = tl.maximum(run_max, tl.max(z, axis=1))
        c = tl.exp(run_max - new)
        w = tl.exp(z - new[:, None])
        run_sum = run_sum * c + tl.sum(w, axis=1)
        out = out * c[:, None]
        out += tl.dot(w.to(v.dtype), v, input_precision="ieee")
        run_max = new
    out = out / run_sum[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), mask=okq[:, None] & okd[None, :])
    tl.store(lse_ptr + rows, run_max + tl.log(run_sum), mask=okq)


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
        title="mask before alpha",
    )
)

wrong(
    "flash_forward",
    "no `tl.where` for the keys beyond S_k: their scores are 0, not −inf, and each adds exp(0 − "
    "m) to the sum.",
    "padded keys are not masked",
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
    okq = rows < S_q
    okd = d < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=okq[:, None] & okd[None, :], other=0.0)
    run_max = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    run_sum = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        kt = tl.load(k_ptr + d[:, None] * k_col + j[None, :] * k_row, mask=okd[:, None] & okk[None, :], other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=okk[:, None] & okd[None, :], other=0.0)
        z = tl.dot(q, kt, input_precision="ieee") * alpha
        new = tl.maximum(run_max, tl.max(z, axis=1))
        c = tl.exp(run_max - new)
        w = tl.exp(z - new[:, None])
        run_sum = run_sum * c + tl.sum(w, axis=1)
        out = out * c[:, None]
        out += tl.dot(w.to(v.dtype), v, input_precision="ieee")
        run_max = new
    out = out / run_sum[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), mask=okq[:, None] & okd[None, :])
    tl.store(lse_ptr + rows, run_max + tl.log(run_sum), mask=okq)


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
        title="padded keys count",
    )
)

right("flash_forward", "k loaded transposed")(
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
    okq = rows < S_q
    okd = d < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=okq[:, None] & okd[None, :], other=0.0)
    run_max = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    run_sum = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        kt = tl.load(k_ptr + d[:, None] * k_col + j[None, :] * k_row, mask=okd[:, None] & okk[None, :], other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=okk[:, None] & okd[None, :], other=0.0)
        z = tl.dot(q, kt, input_precision="ieee") * alpha
        z = tl.where(okk[None, :], z, float("-inf"))
        new = tl.maximum(run_max, tl.max(z, axis=1))
        c = tl.exp(run_max - new)
        w = tl.exp(z - new[:, None])
        run_sum = run_sum * c + tl.sum(w, axis=1)
        out = out * c[:, None]
        out += tl.dot(w.to(v.dtype), v, input_precision="ieee")
        run_max = new
    out = out * (1.0 / run_sum)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), mask=okq[:, None] & okd[None, :])
    tl.store(lse_ptr + rows, run_max + tl.log(run_sum), mask=okq)


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
'''
    )
)
