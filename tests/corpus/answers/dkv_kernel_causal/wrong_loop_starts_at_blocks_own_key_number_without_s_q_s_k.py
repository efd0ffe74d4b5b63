# label: wrong
# title: unseen: lo = start_n
# says: The loop starts at the block's own key number, without S_q - S_k: with more keys than queries the
#   first queries that see the block are left out.
# names: loop start without S_k − S_q
# base: _dkv_transposed

# --- replace
        lo = tl.maximum(start_n + N_Q - N_KV, 0) // BLOCK_M1 * BLOCK_M1
# --- with
        lo = start_n
