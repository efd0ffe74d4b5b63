# label: right
# title: two kernels, delta by torch

@triton.jit
def keys_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, B, H, H_k, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # owns BLOCK_K keys of one head of K; the first blocks are seen by most queries, and come first
    block = tl.program_id(0) // (B * H_k)
    b = (tl.program_id(0) % (B * H_k) // H_k).to(tl.int64)
    h_k = (tl.program_id(0) % H_k).to(tl.int64)
    k_ptr += b * k_batch + h_k * k_head
    v_ptr += b * v_batch + h_k * v_head
    dk_ptr += b * dk_batch + h_k * dk_head
    dv_ptr += b * dv_batch + h_k * dv_head
    columns = block * BLOCK_K + tl.arange(0, BLOCK_K)
    queries, d = tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_D)
    in_keys, in_d = columns < S_k, d < D
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    c = alpha * 1.4426950408889634
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    first, all_see = 0, 0  # the first query that sees a key of this block; the first that sees all of them
    if IS_CAUSAL:
        first = tl.maximum(0, block * BLOCK_K - (S_k - S_q)) // BLOCK_Q * BLOCK_Q
        all_see = tl.maximum(0, (block + 1) * BLOCK_K - 1 - (S_k - S_q))
    q_tile = queries[:, None] * q_row + d[None, :] * q_col
    do_tile = queries[:, None] * do_row + d[None, :] * do_col
    for g in range(0, H // H_k):
        h = h_k * (H // H_k) + g
        q_base, do_base = q_ptr + b * q_batch + h * q_head, do_ptr + b * do_batch + h * do_head
        row_base = (b * H + h) * S_q
        for start in range(first, S_q, BLOCK_Q):
            rows = start + queries
            in_queries = rows < S_q
            in_tile = in_queries[:, None] & in_d[None, :]
            at = start.to(tl.int64)
            q = tl.load(q_base + at * q_row + q_tile, mask=in_tile, other=0.0)
            do = tl.load(do_base + at * do_row + do_tile, mask=in_tile, other=0.0)
            # a padded query: 2^(x − ∞) = 0
            lse = tl.load(lse_ptr + row_base + rows, mask=in_queries, other=float("inf"))
            lse = tl.where(lse == -float("inf"), float("inf"), lse) * 1.4426950408889634
            delta = tl.load(delta_ptr + row_base + rows, mask=in_queries, other=0.0)
            x_t = tl.dot(k, tl.trans(q), input_precision="ieee")  # (BLOCK_K, BLOCK_Q)
            if IS_CAUSAL:
                if start < all_see:  # the diagonal crosses this tile
                    seen = columns[:, None] <= rows[None, :] + S_k - S_q
                    lse_t = tl.where(seen, lse[None, :], float("inf"))
                    p_t = tl.exp2(x_t * c - lse_t)
                else:
                    p_t = tl.exp2(x_t * c - lse[None, :])
            else:
                p_t = tl.exp2(x_t * c - lse[None, :])
            dv += tl.dot(p_t.to(do.dtype), do, input_precision="ieee")
            dp_t = tl.dot(v, tl.trans(do), input_precision="ieee")
            ds_t = p_t * (dp_t - delta[None, :])
            dk += tl.dot(ds_t.to(q.dtype), q, input_precision="ieee")
    dk_tile = columns[:, None] * dk_row + d[None, :] * dk_col
    dv_tile = columns[:, None] * dv_row + d[None, :] * dv_col
    tl.store(dk_ptr + dk_tile, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + dv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


@triton.jit
def queries_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, B, H, H_k, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # owns BLOCK_Q queries; heavy blocks first, as in the forward pass
    blocks = tl.cdiv(S_q, BLOCK_Q)
    block = blocks - 1 - tl.program_id(0) // (B * H)
    b = (tl.program_id(0) % (B * H) // H).to(tl.int64)
    h = (tl.program_id(0) % H).to(tl.int64)
    h_k = h // (H // H_k)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h_k * k_head
    v_ptr += b * v_batch + h_k * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q
    rows = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys, d = tl.arange(0, BLOCK_K), tl.arange(0, BLOCK_D)
    in_queries, in_d = rows < S_q, d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse) * 1.4426950408889634
    delta = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    c = alpha * 1.4426950408889634
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    k_tile = keys[:, None] * k_row + d[None, :] * k_col
    v_tile = keys[:, None] * v_row + d[None, :] * v_col
    end, whole = S_k, S_k // BLOCK_K * BLOCK_K
    if IS_CAUSAL:
        end = tl.maximum(0, tl.minimum(S_k, (block + 1) * BLOCK_Q + S_k - S_q))
        whole = tl.maximum(0, tl.minimum(S_k, block * BLOCK_Q + 1 + S_k - S_q)) // BLOCK_K * BLOCK_K
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        at = start.to(tl.int64)
        in_tile = (columns < S_k)[:, None] & in_d[None, :]
        k = tl.load(k_ptr + at * k_row + k_tile, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + at * v_row + v_tile, mask=in_tile, other=0.0)
        x = tl.dot(q, tl.trans(k), input_precision="ieee")
        if start >= whole:  # the diagonal, or the last key, crosses this tile
            last_seen = S_k - 1
            if IS_CAUSAL:
                x = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, x * c, -float("inf"))
            else:
                x = tl.where(columns[None, :] <= last_seen, x * c, -float("inf"))
        else:
            x = x * c
        p = tl.exp2(x - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)


def by_two_kernels(
    q, k, v, o, do, lse, causal, alpha
):
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1], k.shape[2]
    delta, lse = (o.float() * do.float()).sum(-1), lse.contiguous()
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    dk = torch.empty((B, H_k, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H_k, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    BLOCK = 32
    shared = (q, k, v, do, lse, delta)
    sizes = (alpha, B, H, H_k, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *do.stride())
    blocks = {"IS_CAUSAL": causal, "BLOCK_Q": BLOCK, "BLOCK_K": BLOCK, "BLOCK_D": BLOCK_D}
    keys_kernel[(triton.cdiv(S_k, BLOCK) * B * H_k,)](
        *shared, dk, dv, *sizes, *dk.stride(), *dv.stride(), **blocks, num_warps=4 if BLOCK_D <= 64 else 8
    )
    queries_kernel[(triton.cdiv(S_q, BLOCK) * B * H,)](
        *shared, dq, *sizes, *dq.stride(), **blocks, num_warps=4 if BLOCK_D <= 64 else 8
    )
    return dq, dk, dv
