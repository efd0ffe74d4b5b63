# label: wrong
# title: three passes, other=0 in the maximum
# says: The padding of the maximum's load is 0: for a row far below zero m is 0, and all exponentials vanish.
# names: padding enters the sum; zero over zero; padding enters the maximum
# base: right_three_passes_over_memory_in_blocks_of_16

# --- replace
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=-float("inf"))
        biggest = tl.maximum(biggest, tl.max(x, axis=0).to(tl.float32))
# --- with
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=0.0)
        biggest = tl.maximum(biggest, tl.max(x, axis=0).to(tl.float32))
