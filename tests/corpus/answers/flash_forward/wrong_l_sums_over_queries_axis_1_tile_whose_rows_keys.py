# label: wrong
# title: tl.sum(pt, axis=1)
# says: l sums over the queries: axis 1 of a tile whose rows are keys.
# names: l sums over the queries; crashed
# base: right_tiles_transposed_k_qt_reductions_over_axis_0_16_by

# --- replace
        denom = denom * correction + tl.sum(pt, axis=0)
# --- with
        denom = denom * correction + tl.sum(pt, axis=1)
