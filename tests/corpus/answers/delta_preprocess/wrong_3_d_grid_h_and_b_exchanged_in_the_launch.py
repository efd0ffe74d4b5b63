# label: wrong
# title: 3-D grid, H and B exchanged in the launch
# says: Batch and head are exchanged in the grid: heads beyond the batch size have no program.
# names: permuted heads; out_of_bounds; never written
# base: right_a_three_dimensional_grid

# --- replace
    preprocess[(triton.cdiv(S, 16), H, B)](
# --- with
    preprocess[(triton.cdiv(S, 16), B, H)](
