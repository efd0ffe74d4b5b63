"""Answers to lesson 06, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "flash_forward",
    "line q = (q * alpha).to(q.dtype): alpha is folded into q and rounded to half precision "
    "before the product, so scores and LSE are off far more than allowed",
    "precision",
)(
    written(
        """
from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
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
    q_ok = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_ok, other=0.0)
    q = (q * alpha).to(q.dtype)
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    denom = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for k0 in range(0, S_k, BLOCK_K):
        cols = k0 + keys
        kv_ok = (cols < S_k)[:, None] & (d < D)[None, :]
        kt = tl.load(k_ptr + cols[None, :] * k_row + d[:, None] * k_col, mask=tl.trans(kv_ok), other=0.0)
        s = tl.dot(q, kt, input_precision="ieee")
        s = tl.where((cols < S_k)[None, :], s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        shrink = tl.exp(top - new_top)
        e = tl.exp(s - new_top[:, None])
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=kv_ok, other=0.0)
        denom = denom * shrink + tl.sum(e, 1)
        out = out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")
        top = new_top
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
             (out / denom[:, None]).to(o_ptr.dtype.element_ty), mask=q_ok)
    tl.store(lse_ptr + rows, top + tl.log(denom), mask=rows < S_q)


def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="alpha in half",
    )
)

wrong(
    "flash_forward",
    "line denom = ... tl.sum(e.to(v.dtype).to(tl.float32), 1): the denominator sums the rounded "
    "exponentials, which moves LSE beyond its bound for half-precision inputs",
    "precision",
)(
    written(
        """
from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
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
    q_ok = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_ok, other=0.0)
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    denom = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for k0 in range(0, S_k, BLOCK_K):
        cols = k0 + keys
        kv_ok = (cols < S_k)[:, None] & (d < D)[None, :]
        kt = tl.load(k_ptr + cols[None, :] * k_row + d[:, None] * k_col, mask=tl.trans(kv_ok), other=0.0)
        s = tl.dot(q, kt, input_precision="ieee") * alpha
        s = tl.where((cols < S_k)[None, :], s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        shrink = tl.exp(top - new_top)
        e = tl.exp(s - new_top[:, None])
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=kv_ok, other=0.0)
        denom = denom * shrink + tl.sum(e.to(v.dtype).to(tl.float32), 1)
        out = out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")
        top = new_top
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
             (out / denom[:, None]).to(o_ptr.dtype.element_ty), mask=q_ok)
    tl.store(lse_ptr + rows, top + tl.log(denom), mask=rows < S_q)


def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="denominator from rounded p",
    )
)

wrong(
    "flash_forward",
    "line out = ... / denom[:, None]: O is divided by the running denominator in each step, and "
    "the old O is not multiplied by the old one before (half of FlashAttention-1's formula)",
    "divided in every step",
)(
    written(
        """
from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
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
    q_ok = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_ok, other=0.0)
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    denom = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for k0 in range(0, S_k, BLOCK_K):
        cols = k0 + keys
        kv_ok = (cols < S_k)[:, None] & (d < D)[None, :]
        kt = tl.load(k_ptr + cols[None, :] * k_row + d[:, None] * k_col, mask=tl.trans(kv_ok), other=0.0)
        s = tl.dot(q, kt, input_precision="ieee") * alpha
        s = tl.where((cols < S_k)[None, :], s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        shrink = tl.exp(top - new_top)
        e = tl.exp(s - new_top[:, None])
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=kv_ok, other=0.0)
        denom = denom * shrink + tl.sum(e, 1)
        out = (out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")) / denom[:, None]
        top = new_top
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
             out.to(o_ptr.dtype.element_ty), mask=q_ok)
    tl.store(lse_ptr + rows, top + tl.log(denom), mask=rows < S_q)


def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="normalised in every step",
    )
)

wrong(
    "flash_forward",
    "two: LSE is stored as top + tl.log2(denom), a mixture of bases; and top = new_top stands "
    "before shrink = tl.exp(top - new_top), so the factor is always 1",
    "nothing rescaled + LSE mixes two bases",
)(
    written(
        """
from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
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
    q_ok = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_ok, other=0.0)
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    denom = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for k0 in range(0, S_k, BLOCK_K):
        cols = k0 + keys
        kv_ok = (cols < S_k)[:, None] & (d < D)[None, :]
        kt = tl.load(k_ptr + cols[None, :] * k_row + d[:, None] * k_col, mask=tl.trans(kv_ok), other=0.0)
        s = tl.dot(q, kt, input_precision="ieee") * alpha
        s = tl.where((cols < S_k)[None, :], s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        top = new_top
        shrink = tl.exp(top - new_top)
        e = tl.exp(s - new_top[:, None])
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=kv_ok, other=0.0)
        denom = denom * shrink + tl.sum(e, 1)
        out = out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
             (out / denom[:, None]).to(o_ptr.dtype.element_ty), mask=q_ok)
    tl.store(lse_ptr + rows, top + tl.log2(denom), mask=rows < S_q)


def flash_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, block: int | None = None
) -> tuple[Tensor, Tensor]:
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="lse base two and stale max",
    )
)

wrong(
    "flash_forward_causal",
    "line end = ... tl.program_id(0) * BLOCK_Q + 1 ...: the loop ends where the first query of "
    "the block sees its last key, the later queries of the block lose keys",
    "last tile missing",
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
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    LOG2E: tl.constexpr = 1.4426950408889634
    q_in = qi < S_q
    in_d = d < D
    q_tile = qi[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=q_in[:, None] & in_d[None, :], other=0.0)
    mx = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    sm = tl.zeros((BLOCK_Q,), tl.float32)
    o_acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = qi + S_k - S_q
    end = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + 1 + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = k_in[None, :] & (kj[None, :] <= last_seen[:, None])
        s = tl.where(seen, s, -float("inf"))
        mx2 = tl.maximum(mx, tl.max(s, axis=1))
        shift = tl.where(mx2 == -float("inf"), 0.0, mx2)
        rescale = tl.exp(mx - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        sm = sm * rescale + tl.sum(p, axis=1)
        o_acc = o_acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        mx = mx2
    o = o_acc / tl.where(sm == 0.0, 1.0, sm)[:, None]
    o_tile = qi[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=q_in[:, None] & in_d[None, :])
    tl.store(lse_ptr + qi, mx + tl.log(sm), mask=q_in)


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
        title="end of first query",
    )
)

wrong(
    "flash_forward_causal",
    "line for start in range(0, S_k, BLOCK_K): the mask is right, but all tiles are visited, also"
    " those that no query of the block sees",
    "review",
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
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    LOG2E: tl.constexpr = 1.4426950408889634
    q_in = qi < S_q
    in_d = d < D
    q_tile = qi[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=q_in[:, None] & in_d[None, :], other=0.0)
    mx = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    sm = tl.zeros((BLOCK_Q,), tl.float32)
    o_acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = qi + S_k - S_q
    for start in range(0, S_k, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = k_in[None, :] & (kj[None, :] <= last_seen[:, None])
        s = tl.where(seen, s, -float("inf"))
        mx2 = tl.maximum(mx, tl.max(s, axis=1))
        shift = tl.where(mx2 == -float("inf"), 0.0, mx2)
        rescale = tl.exp(mx - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        sm = sm * rescale + tl.sum(p, axis=1)
        o_acc = o_acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        mx = mx2
    o = o_acc / tl.where(sm == 0.0, 1.0, sm)[:, None]
    o_tile = qi[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=q_in[:, None] & in_d[None, :])
    tl.store(lse_ptr + qi, mx + tl.log(sm), mask=q_in)


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
        title="visits everything",
    )
)

wrong(
    "flash_forward_causal",
    "line o = o_acc / (sm + 1e-6) and tl.log(sm + 1e-6): the guard shifts every row, and a row "
    "that saw nothing has no other guard, so its exponent is still -inf + inf = NaN",
    "rows that see nothing are NaN",
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
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    LOG2E: tl.constexpr = 1.4426950408889634
    q_in = qi < S_q
    in_d = d < D
    q_tile = qi[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=q_in[:, None] & in_d[None, :], other=0.0)
    mx = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    sm = tl.zeros((BLOCK_Q,), tl.float32)
    o_acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = qi + S_k - S_q
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = k_in[None, :] & (kj[None, :] <= last_seen[:, None])
        s = tl.where(seen, s, -float("inf"))
        mx2 = tl.maximum(mx, tl.max(s, axis=1))
        shift = mx2
        rescale = tl.exp(mx - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        sm = sm * rescale + tl.sum(p, axis=1)
        o_acc = o_acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        mx = mx2
    o = o_acc / (sm + 1e-6)[:, None]
    o_tile = qi[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=q_in[:, None] & in_d[None, :])
    tl.store(lse_ptr + qi, mx + tl.log(sm + 1e-6), mask=q_in)


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
        title="guard by epsilon",
    )
)

wrong(
    "flash_forward_either",
    "line s = tl.where(...) under if IS_CAUSAL: padded keys are masked only if the flag is set, "
    "without it they take part with score 0",
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
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    LOG2E: tl.constexpr = 1.4426950408889634
    q_in = qi < S_q
    in_d = d < D
    q_tile = qi[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=q_in[:, None] & in_d[None, :], other=0.0)
    mx = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    sm = tl.zeros((BLOCK_Q,), tl.float32)
    o_acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        if IS_CAUSAL:
            s = tl.where(k_in[None, :] & (kj[None, :] <= qi[:, None] + S_k - S_q), s, -float("inf"))
        mx2 = tl.maximum(mx, tl.max(s, axis=1))
        shift = mx2
        if IS_CAUSAL:
            shift = tl.where(mx2 == -float("inf"), 0.0, mx2)
        rescale = tl.exp(mx - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        sm = sm * rescale + tl.sum(p, axis=1)
        o_acc = o_acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        mx = mx2
    divisor = sm
    if IS_CAUSAL:
        divisor = tl.where(sm == 0.0, 1.0, sm)
    o = o_acc / divisor[:, None]
    o_tile = qi[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=q_in[:, None] & in_d[None, :])
    tl.store(lse_ptr + qi, mx + tl.log(sm), mask=q_in)


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
        title="no key mask without flag",
    )
)
