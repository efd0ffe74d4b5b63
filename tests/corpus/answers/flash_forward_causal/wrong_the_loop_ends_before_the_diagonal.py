# label: wrong
# title: unseen: the loop ends before the diagonal
# says: The loop ends before the block's own diagonal: the last tiles of keys that it sees are missing.
# names: loop ends one tile early; last tile missing
# base: _tutorial_blocks

# --- replace
        hi = tl.minimum(KV_CTX, (start_m + 1) * BLOCK_M + KV_CTX - N_CTX)
# --- with
        hi = tl.minimum(KV_CTX, start_m * BLOCK_M + KV_CTX - N_CTX)
