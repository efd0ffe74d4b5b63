# label: wrong
# title: 3-D grid, H and B exchanged in the launch
# says: Batch and head are exchanged in the grid: heads beyond the batch size have no program.
# names: permuted heads; out_of_bounds; never written
# base: right_a_three_dimensional_grid

# --- replace
    off_m = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    off_h = tl.program_id(0).to(tl.int64)
    off_b = tl.program_id(2).to(tl.int64)
# --- with
    off_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    off_h = tl.program_id(1)
    off_b = tl.program_id(2)

# --- replace
    preprocess[(H, triton.cdiv(S, 16), B)](
# --- with
    preprocess[(triton.cdiv(S, 16), B, H)](
