# label: wrong
# title: numer +=
# says: The numerator is not rescaled when the maximum moves.
# names: acc not rescaled
# base: right_tiles_transposed_k_qt_reductions_over_axis_0_16_by

# --- replace
        numer = numer * correction[None, :] + tl.dot(tl.trans(vt), pt.to(vt.dtype), input_precision="ieee")
# --- with
        numer += tl.dot(tl.trans(vt), pt.to(vt.dtype), input_precision="ieee")
