# label: wrong
# title: scale2 = scale
# says: exp2 of scores that were never multiplied by log2 e.
# names: log2 e is missing from S
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    scale2 = scale * 1.4426950408889634
# --- with
    scale2 = scale
