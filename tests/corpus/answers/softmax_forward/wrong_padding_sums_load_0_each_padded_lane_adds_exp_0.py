# label: wrong
# title: three passes, other=0 in the sum
# says: The padding of the sum's load is 0: each padded lane adds exp(0 − m).
# names: padding enters the sum; rows do not sum to 1
# base: right_three_passes_over_memory_in_blocks_of_16

# --- replace
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=-float("inf"))
        denom += tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)
# --- with
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=0.0)
        denom += tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)
