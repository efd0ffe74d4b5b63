# label: wrong
# title: unseen: a grid over the queries
# says: The grid counts blocks of queries, and programs own keys: with more keys than queries the last are
#   never written.
# names: never written
# base: _dkv_flattened

# --- replace
    key_blocks = triton.cdiv(nk, 16)
# --- with
    key_blocks = triton.cdiv(nq, 16)
