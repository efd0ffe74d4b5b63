# label: wrong
# title: three passes, denom = instead of +=
# says: Each block overwrites the sum; only the last block's remains.
# names: rows do not sum to 1; only the last tile; the sum of the last block
# base: right_three_passes_over_memory_in_blocks_of_16

# --- replace
        denom += tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)
# --- with
        denom = tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)
