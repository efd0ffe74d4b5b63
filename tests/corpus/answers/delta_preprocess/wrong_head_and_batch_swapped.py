# label: wrong
# title: head and batch swapped
# says: the store index `(h * B_ + b) * S` takes batch and head in the wrong order (and needs B, for which
#   num_programs(2) is asked).
# names: permuted heads
# base: wrong_batch_and_head_swapped

# --- replace
    rows_ok = i < S
    ok = rows_ok[:, None] & (d[None, :] < D)
# --- with
    ok = (i < S)[:, None] & (d < D)[None, :]

# --- replace
    prod = (o * g).to(tl.float32)
    tl.store(delta_ptr + (h * H + b) * S + i, tl.sum(prod, axis=1), mask=rows_ok)
# --- with
    row = tl.sum(o.to(tl.float32) * g.to(tl.float32), axis=1)
    B_ = tl.num_programs(2)
    tl.store(delta_ptr + (h * B_ + b) * S + i, row, mask=i < S)
