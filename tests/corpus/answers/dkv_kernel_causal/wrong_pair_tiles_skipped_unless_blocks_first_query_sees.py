# label: wrong
# title: j0 <= i0 + N - M
# says: A pair of tiles is skipped unless the block's first query sees its first key.
# names: the first block that sees the keys is left out
# base: right_one_program_per_pair_tiles_sees_anything_atomics

# --- replace
    if not CAUSAL or j0 <= i0 + BM - 1 + N - M:
# --- with
    if not CAUSAL or j0 <= i0 + N - M:
