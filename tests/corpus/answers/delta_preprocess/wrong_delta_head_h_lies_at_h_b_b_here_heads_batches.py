# label: wrong
# title: 3-D grid, delta at h * B + b
# says: delta of head h lies at h * B + b here: heads and batches are exchanged in the output.
# names: permuted heads
# base: right_a_three_dimensional_grid

# --- replace
    tl.store(Delta + (off_b * H + off_h) * N_CTX + off_m, tl.sum(o * do, axis=1), mask=mask_m)
# --- with
    tl.store(Delta + (off_h * tl.num_programs(2) + off_b) * N_CTX + off_m, tl.sum(o * do, axis=1), mask=mask_m)
