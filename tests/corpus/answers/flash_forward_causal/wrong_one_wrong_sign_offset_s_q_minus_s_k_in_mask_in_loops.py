# label: wrong
# title: shift = M - N
# says: One wrong sign: the offset is S_q − S_k, in the mask and in the loop's end.
# names: S_k − S_q with the wrong sign
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    shift = N - M
# --- with
    shift = M - N
