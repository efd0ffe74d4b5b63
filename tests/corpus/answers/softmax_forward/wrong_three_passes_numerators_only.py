# label: wrong
# title: three passes, numerators only
# says: Nothing was divided by the sum.
# names: not divided by the sum
# base: right_three_passes_over_memory_in_blocks_of_16

# --- replace
        y = tl.exp(x.to(tl.float32) - biggest) / denom
# --- with
        y = tl.exp(x.to(tl.float32) - biggest)
