# label: wrong
# title: the third sum is rounded to half precision after every tile
# says: delta_i is a sum over all keys and has to stay in fp32.
# names: precision; sums in half precision
# base: wrong_delta_reset_each_tile

# --- replace
from torch import Tensor


@triton.jit
# --- with
@triton.jit

# --- replace
    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
# --- with
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)

# --- replace
    q_in = qi < S_q
# --- with
    in_queries = rows < S_q

# --- replace
    in_block = q_in[:, None] & in_d[None, :]
    q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + qi, mask=q_in, other=0.0)
# --- with
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)

# --- replace
    dl = tl.zeros((BLOCK_Q,), tl.float32)
# --- with
    delta_i = tl.zeros((BLOCK_Q,), tl.float32)

# --- replace
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
# --- with
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)

# --- replace
        s = tl.where(k_in[None, :], s, -float("inf"))
        p = tl.exp(s - lse[:, None])
# --- with
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])

# --- replace
        dl = tl.sum(p_dp, axis=1)
    grad = alpha * (worth_of_keys - dl[:, None] * mean_key)
    dq_tile = qi[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, grad.to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
        delta_i = (delta_i + tl.sum(p_dp, axis=1)).to(q.dtype).to(tl.float32)
    dq = alpha * (worth_of_keys - delta_i[:, None] * mean_key)
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)

# --- replace
    """dQ [B, H, S_q, D] in q's dtype, from lse [B, H, S_q] and without O."""
# --- with


# --- replace
    grad = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
# --- with
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)

# --- replace
        q, k, v, do, lse.contiguous(), grad, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *grad.stride(),
# --- with
        q, k, v, do, lse.contiguous(), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),

# --- replace
    return grad
# --- with
    return dq
