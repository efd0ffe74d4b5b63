# label: wrong
# title: BLOCK_N, False)
# says: The tiles on the diagonal are treated like those below it, without a mask.
# names: only whole tiles are hidden; diagonal tiles; leak from the future
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
                           s_kn, s_kd, s_vn, s_vd, BLOCK_N, True)
# --- with
                           s_kn, s_kd, s_vn, s_vd, BLOCK_N, False)
