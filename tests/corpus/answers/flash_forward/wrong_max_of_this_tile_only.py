# label: wrong
# title: max of this tile only
# says: The maximum is taken over the tile alone: the running one is forgotten where it is larger.
# names: one edit; the maximum of one tile
# base: right_tiles_transposed_k_qt_reductions_over_axis_0_16_by

# --- replace
        new_max = tl.maximum(running_max, tl.max(st, axis=0))
# --- with
        new_max = tl.max(st, axis=0)
