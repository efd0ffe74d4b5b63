# label: wrong
# title: the scan begins at the first query, causal or not
# says: Tiles in which no query sees a key are multiplied.
# names: review
# base: wrong_share_without_alpha

# --- replace
    kj = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
# --- with
    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)

# --- replace
    k_in, in_d = kj < S_k, d < D
    in_block = k_in[:, None] & in_d[None, :]
    k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
# --- with
    in_keys, in_d = columns < S_k, d < D
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)

# --- replace
    if IS_CAUSAL:
        first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q)) // BLOCK_Q * BLOCK_Q
# --- with


# --- replace
        qi = start + queries
        q_in = qi < S_q
        in_tile = q_in[:, None] & in_d[None, :]
        q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse = tl.load(lse_ptr + qi, mask=q_in, other=float("inf"))
        lse = tl.where(lse == -float("inf"), float("inf"), lse)
        dlt = tl.load(delta_ptr + qi, mask=q_in, other=0.0)
# --- with
        rows = start + queries
        in_queries = rows < S_q
        in_tile = in_queries[:, None] & in_d[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)

# --- replace
        seen = k_in[None, :]
# --- with
        seen = in_keys[None, :]

# --- replace
            seen = seen & (kj[None, :] <= qi[:, None] + S_k - S_q)
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse[:, None])
# --- with
            seen = seen & (columns[None, :] <= rows[:, None] + S_k - S_q)
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])

# --- replace
        ds = (p * (dp - dlt[:, None])).to(q.dtype)
# --- with
        ds = (p * (dp - delta_i[:, None])).to(q.dtype)

# --- replace
        share = tl.dot(ds, k, input_precision="ieee")
        dq_tile = qi[:, None] * D + d[None, :]
# --- with
        share = alpha * tl.dot(ds, k, input_precision="ieee")
        dq_tile = rows[:, None] * D + d[None, :]

# --- replace
    dkv_tile = kj[:, None] * D + d[None, :]
# --- with
    dkv_tile = columns[:, None] * D + d[None, :]

# --- replace
    """dQ, dK, dV, each in its input's dtype. A program owns keys; dQ's last bits depend on their order."""
# --- with
