# label: right
# title: one limit per query

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
    LN2: tl.constexpr = 0.6931471805599453
    q_ok = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_ok, other=0.0)

    limit = rows * 0 + (S_k - 1)  # the last key that each query sees
    last = S_k - 1  # the last key that any of them sees
    if IS_CAUSAL:
        limit = tl.minimum(limit, rows + (S_k - S_q))
        last = tl.minimum(last, tl.program_id(0) * BLOCK_Q + (BLOCK_Q - 1) + S_k - S_q)

    top = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    mass = tl.zeros((BLOCK_Q,), tl.float32)
    numerator = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, last + 1, BLOCK_K):
        j = start + keys
        vt_ok = (j < S_k)[:, None] & (d < D)[None, :]
        kt_ok = (d < D)[:, None] & (j < S_k)[None, :]
        kt = tl.load(k_ptr + d[:, None] * k_col + j[None, :] * k_row, mask=kt_ok, other=0.0)
        s = tl.dot(q, kt, input_precision="ieee") * alpha
        s = tl.where(j[None, :] > limit[:, None], float("-inf"), s)
        new_top = tl.maximum(top, tl.max(s, axis=1))
        base = tl.where(new_top > float("-inf"), new_top, 0.0)
        w = tl.exp(s - base[:, None])
        keep = tl.exp(top - base)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=vt_ok, other=0.0)
        mass = tl.sum(w, axis=1) + keep * mass
        numerator = tl.dot(w.to(v.dtype), v, acc=keep[:, None] * numerator, input_precision="ieee")
        top = new_top

    empty = mass == 0.0
    mean = numerator / tl.where(empty, 1.0, mass)[:, None]
    lse = tl.where(empty, float("-inf"), top + LN2 * tl.log2(tl.where(empty, 1.0, mass)))
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, mean.to(o_ptr.dtype.element_ty), mask=q_ok)
    tl.store(lse_ptr + rows, lse, mask=rows < S_q)


# INCLUDE: _flash_forward_either
