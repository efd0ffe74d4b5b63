# label: wrong
# title: one block, loaded twice
# says: One block, and the row loaded a second time for the sum: read twice.
# names: review
# base: wrong_the_whole_row_in_one_block

# --- replace
    tl.store(lse_ptr + i, m + tl.log(tl.sum(tl.exp(x - shift), axis=0)))
# --- with
    x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float('inf')).to(tl.float32)
    tl.store(lse_ptr + i, m + tl.log(tl.sum(tl.exp(x - shift), axis=0)))
