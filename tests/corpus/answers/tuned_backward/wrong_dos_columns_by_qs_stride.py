# label: wrong
# title: dO's columns by Q's stride
# says: dO's tile takes the stride of Q's columns: wrong where dO is not laid out as Q.
# names: first divergence; one edit
# base: right_two_kernels_delta_by_torch

# --- replace
    do_tile = queries[:, None] * do_row + d[None, :] * do_col
# --- with
    do_tile = queries[:, None] * do_row + d[None, :] * q_col
