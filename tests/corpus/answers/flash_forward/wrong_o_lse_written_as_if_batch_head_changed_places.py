# label: wrong
# title: (h * tl.num_programs(2) + b) * Sq
# says: O and LSE are written as if batch and head changed places.
# names: permuted heads
# base: right_tiles_transposed_k_qt_reductions_over_axis_0_16_by

# --- replace
    row = (b * n_heads + h) * Sq + qi
# --- with
    row = (h * tl.num_programs(2) + b) * Sq + qi
