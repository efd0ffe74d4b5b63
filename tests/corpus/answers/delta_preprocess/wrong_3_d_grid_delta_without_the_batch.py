# label: wrong
# title: 3-D grid, delta without the batch
# says: The batch is left out of delta's address: all batches write to the first one's slots.
# names: race; one delta for all heads
# base: right_a_three_dimensional_grid

# --- replace
    tl.store(Delta + (off_b * H + off_h) * N_CTX + off_m, tl.sum(o * do, axis=1), mask=mask_m)
# --- with
    tl.store(Delta + off_h * N_CTX + off_m, tl.sum(o * do, axis=1), mask=mask_m)
