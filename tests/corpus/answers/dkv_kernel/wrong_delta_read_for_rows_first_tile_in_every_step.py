# label: wrong
# title: Di = tl.load(D_ + tl.arange(0, BLOCK_M1), mask=tl.arange(0, BLOCK_M1) < N_Q
# says: delta is read for the rows of the first tile in every step.
# names: delta of other rows
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        Di = tl.load(D_ + offs_m, mask=mmask, other=0.0)
# --- with
        Di = tl.load(D_ + tl.arange(0, BLOCK_M1), mask=tl.arange(0, BLOCK_M1) < N_Q, other=0.0)
