# label: wrong
# title: unseen: the start rounded up
# says: The start is rounded up: the tile in which the first seeing query lies is left out.
# names: the first block that sees the keys is left out
# base: _dkv_causal_by_the_notebook

# --- replace
    first = first // BLOCK_Q * BLOCK_Q
# --- with
    first = tl.cdiv(first, BLOCK_Q) * BLOCK_Q
