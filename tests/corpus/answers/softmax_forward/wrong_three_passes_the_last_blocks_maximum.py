# label: wrong
# title: three passes, the last block's maximum
# says: Each block replaces the maximum by its own: exp can overflow, though the formula is right.
# names: overflow; maximum not subtracted; the maximum of the last block
# base: right_three_passes_over_memory_in_blocks_of_16

# --- replace
        biggest = tl.maximum(biggest, tl.max(x, axis=0).to(tl.float32))
# --- with
        biggest = tl.max(x, axis=0).to(tl.float32)
