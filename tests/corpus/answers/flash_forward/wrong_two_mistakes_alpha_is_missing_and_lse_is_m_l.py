# label: wrong
# title: input_precision="ieee") / running_max + denom
# says: Two mistakes: alpha is missing, and LSE is m + l.
# names: alpha forgotten + LSE is m + l
# base: right_tiles_transposed_k_qt_reductions_over_axis_0_16_by

# --- replace
        st = tl.dot(kt, tl.trans(qt), input_precision="ieee") * scale  # (BK, BQ)
# --- with
        st = tl.dot(kt, tl.trans(qt), input_precision="ieee")  # (BK, BQ)

# --- replace
    tl.store(lse + row, running_max + tl.log(denom), mask=qi < Sq)
# --- with
    tl.store(lse + row, running_max + denom, mask=qi < Sq)
