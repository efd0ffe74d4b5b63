# label: wrong
# title: unseen: rows clamped to the last query
# says: Row numbers are clamped instead of masked: the last query is counted again for each padded row.
# names: padded queries repeat the last one
# base: _dkv_flattened

# --- replace
        r = i0 + lanes
# --- with
        r = tl.minimum(i0 + lanes, nq - 1)
