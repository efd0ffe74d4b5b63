# label: right
# title: unseen: the tiles of queries start at the first that sees the block, wherever it is
# base: _dkv_causal_by_the_notebook

# --- replace
    first = first // BLOCK_Q * BLOCK_Q
# --- with
