# part: a text that answers change

@triton.jit
def attention_forward_kernel(
    query, key, value, output, logsumexp, scale, num_queries, num_keys, head_dim, num_blocks,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # One program handles one block of queries of one (batch, head) pair
    pid = tl.program_id(0)
    head = (pid // num_blocks).to(tl.int64)
    block = pid % num_blocks

    q_idx = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d_idx = tl.arange(0, BLOCK_D)
    q_mask = (q_idx < num_queries)[:, None] & (d_idx < head_dim)[None, :]
    q_offsets = head * num_queries * head_dim + q_idx[:, None] * head_dim + d_idx[None, :]
    q_block = tl.load(query + q_offsets, mask=q_mask, other=0.0).to(tl.float32) * scale

    running_max = tl.full((BLOCK_Q,), -float("inf"), dtype=tl.float32)
    running_sum = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    accumulator = tl.zeros((BLOCK_Q, BLOCK_D), dtype=tl.float32)

    for k_start in tl.range(0, num_keys, BLOCK_K):
        k_idx = k_start + tl.arange(0, BLOCK_K)
        k_valid = k_idx < num_keys
        kv_mask = k_valid[:, None] & (d_idx < head_dim)[None, :]
        kv_offsets = head * num_keys * head_dim + k_idx[:, None] * head_dim + d_idx[None, :]
        k_block = tl.load(key + kv_offsets, mask=kv_mask, other=0.0).to(tl.float32)
        v_block = tl.load(value + kv_offsets, mask=kv_mask, other=0.0).to(tl.float32)

        # Attention scores, with invalid keys at -inf
        scores = tl.dot(q_block, tl.trans(k_block), input_precision="ieee")
        scores += tl.where(k_valid, 0.0, -float("inf"))[None, :]

        # Online softmax update
        new_max = tl.maximum(running_max, tl.max(scores, axis=1))
        correction = tl.exp(running_max - new_max)
        weights = tl.exp(scores - new_max[:, None])
        running_sum = running_sum * correction + tl.sum(weights, axis=1)
        accumulator *= correction[:, None]
        accumulator += tl.dot(weights, v_block, input_precision="ieee")
        running_max = new_max

    # Final normalization
    accumulator = accumulator / running_sum[:, None]
    tl.store(output + q_offsets, accumulator.to(output.dtype.element_ty), mask=q_mask)
    lse = running_max + tl.log(running_sum)
    tl.store(logsumexp + head * num_queries + q_idx, lse, mask=q_idx < num_queries)


def flash_forward(q, k, v, alpha):
    batch, heads, num_queries, head_dim = q.shape
    num_keys = k.shape[2]
    q_flat = q.contiguous().view(batch * heads, num_queries, head_dim)
    k_flat = k.contiguous().view(batch * heads, num_keys, head_dim)
    v_flat = v.contiguous().view(batch * heads, num_keys, head_dim)
    output = torch.empty_like(q_flat)
    lse = torch.empty(batch * heads, num_queries, device=q.device, dtype=torch.float32)
    num_blocks = triton.cdiv(num_queries, 32)
    scale = alpha
    attention_forward_kernel[(num_blocks * batch * heads,)](
        q_flat, k_flat, v_flat, output, lse, scale, num_queries, num_keys, head_dim, num_blocks,
        BLOCK_Q=32, BLOCK_K=16, BLOCK_D=max(16, triton.next_power_of_2(head_dim)),
    )
    return output.view(batch, heads, num_queries, head_dim), lse.view(batch, heads, num_queries)
