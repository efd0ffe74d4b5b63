# label: wrong
# title: , running_max + tl.log(denom))
# says: The store of LSE has no mask: rows beyond S_q go to the next head, or outside.
# names: out_of_bounds; race
# base: right_tiles_transposed_k_qt_reductions_over_axis_0_16_by

# --- replace
    tl.store(lse + row, running_max + tl.log(denom), mask=qi < Sq)
# --- with
    tl.store(lse + row, running_max + tl.log(denom))
