# label: wrong
# title: denom += tl.sum / tl.log(denom)
# says: Two mistakes: l is not rescaled, and LSE lacks m.
# names: l not rescaled + LSE without m
# base: right_tiles_transposed_k_qt_reductions_over_axis_0_16_by

# --- replace
        denom = denom * correction + tl.sum(pt, axis=0)
# --- with
        denom += tl.sum(pt, axis=0)

# --- replace
    tl.store(lse + row, running_max + tl.log(denom), mask=qi < Sq)
# --- with
    tl.store(lse + row, tl.log(denom), mask=qi < Sq)
