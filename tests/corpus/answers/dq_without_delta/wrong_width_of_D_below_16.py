# label: wrong
# title: lanes for D alone, also below 16
# says: tl.dot sums over 16 at least: no GPU compiles D 8 without padding.
# names: crashed
# base: _dq_without_delta

# --- replace
def dq_without_delta(q: Tensor, k: Tensor, v: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
# --- with
@triton.jit
def dq_without_delta_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    in_queries = rows < S_q
    in_d = d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)
    worth_of_keys = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    mean_key = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    delta_i = tl.zeros((BLOCK_Q,), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        p_dp = p * tl.dot(do, tl.trans(v), input_precision="ieee")
        worth_of_keys += tl.dot(p_dp.to(k.dtype), k, input_precision="ieee")
        mean_key += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta_i += tl.sum(p_dp, axis=1)
    dq = alpha * (worth_of_keys - delta_i[:, None] * mean_key)
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)


def dq_without_delta(q: Tensor, k: Tensor, v: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:

# --- replace
    """dQ [B, H, S_q, D] in q's dtype, from lse [B, H, S_q] and without O."""
# --- with


# --- replace
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    # not 3: at D = 128 a program then takes 96 KiB of shared memory instead of 128, and two fit on a
    # multiprocessor of an H100 (228 KiB) instead of one
# --- with
    BLOCK_D = triton.next_power_of_2(D)
