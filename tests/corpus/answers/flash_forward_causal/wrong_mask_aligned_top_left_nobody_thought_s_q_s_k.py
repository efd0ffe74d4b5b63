# label: wrong
# title: shift = 0
# says: The mask is aligned top-left: nobody thought of S_q ≠ S_k.
# names: top-left alignment
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    shift = N - M
# --- with
    shift = 0
