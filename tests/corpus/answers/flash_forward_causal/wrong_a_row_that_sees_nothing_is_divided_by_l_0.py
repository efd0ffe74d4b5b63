# label: wrong
# title: acc / l_i[:, None]
# says: A row that sees nothing is divided by l = 0.
# names: rows that see nothing are NaN; zero over zero
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    acc = acc / tl.where(nothing, 1.0, l_i)[:, None]
# --- with
    acc = acc / l_i[:, None]
