# label: wrong
# title: lse along the keys
# says: the tile is computed transposed (keys down, queries across), but lse[:, None] and delta[:, None] still
#   run down the first axis: they meet keys instead of queries
# names: delta along the keys; LSE along the keys
# base: right_transposed_tiles

# --- replace
        pT = tl.exp(sT - lse[None, :])
# --- with
        pT = tl.exp(sT - lse[:, None])

# --- replace
        dsT = pT * (dpT - delta[None, :])
# --- with
        dsT = pT * (dpT - delta[:, None])
