# label: right
# title: unseen: the tiles of queries start at the first that sees the block, wherever it is
# base: _dkv_causal_by_the_notebook

# --- replace
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
# --- with
    b = (tl.program_id(0) // H).to(tl.int64)
    h = (tl.program_id(0) % H).to(tl.int64)

# --- replace
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
# --- with
    lse_ptr += tl.program_id(0).to(tl.int64) * S_q
    delta_ptr += tl.program_id(0).to(tl.int64) * S_q

# --- replace
    columns = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
# --- with
    columns = tl.program_id(1).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)

# --- replace
    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))
    first = first // BLOCK_Q * BLOCK_Q
# --- with
    first = tl.maximum(0, tl.program_id(1) * BLOCK_K - (S_k - S_q))

# --- replace
    flash_dkv_kernel[(triton.cdiv(S_k, 32), B * H)](
# --- with
    flash_dkv_kernel[(B * H, triton.cdiv(S_k, 32))](
