# label: wrong
# title: i[:, None] + Sq - Sk)
# says: The diagonal is shifted by S_q − S_k, the wrong way.
# names: S_k − S_q with the wrong sign; one edit
# base: right_delta_inside_kernel_if_in_loop_instead_end_backwards

# --- replace
                see = see & (j[None, :] <= i[:, None] + Sk - Sq)
# --- with
                see = see & (j[None, :] <= i[:, None] + Sq - Sk)
