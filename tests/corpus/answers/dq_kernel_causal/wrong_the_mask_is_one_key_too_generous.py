# label: wrong
# title: i[:, None] + Sk - Sq + 1)
# says: The mask is one key too generous.
# names: mask shows one key too many; one edit
# base: right_delta_inside_kernel_if_in_loop_instead_end_backwards

# --- replace
                see = see & (j[None, :] <= i[:, None] + Sk - Sq)
# --- with
                see = see & (j[None, :] <= i[:, None] + Sk - Sq + 1)
