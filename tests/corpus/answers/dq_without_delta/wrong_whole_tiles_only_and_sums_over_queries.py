# label: wrong
# title: whole tiles only, and sums over queries
# says: The last tile is left out where it is not full, and delta sums over the queries of the block, not over keys.
# names: one edit
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
    for start in range(0, S_k, BN):
# --- with
    for tile in range(S_k // BN):
        start = tile * BN

# --- replace
        delta += tl.sum(w, axis=1)
# --- with
        delta += tl.sum(w, axis=0)

# --- replace
    grad_q[(B * H, triton.cdiv(S_q, 16))](
# --- with
    grad_q[(B * H, triton.cdiv(S_q, 32))](

# --- replace
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(), BM=16, BN=32, BD=BD,
# --- with
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(), BM=32, BN=32, BD=BD,
