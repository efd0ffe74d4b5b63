# label: wrong
# title: position within blocks of 32
# says: Positions are counted within blocks of 32, so that all tiles drop the same weights.
# names: numbers counted within the tile; one edit
# base: _as_taught

# --- replace
    position = ((b * H + h) * S_q + i) * S_k + j
# --- with
    position = ((b * H + h) * 32 + i % 32) * 32 + j % 32
