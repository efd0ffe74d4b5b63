# label: wrong
# title: log2 e is missing from the folded factor.
# says: log2 e is missing from the folded factor.
# names: log2 e is missing
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)
# --- with
    c = tl.maximum(tl.abs(alpha), 1e-30)

# --- replace
    lse = tl.where(l == 0.0, float("-inf"), m * c * 0.6931471805599453 + tl.log(l))
# --- with
    lse = tl.where(l == 0.0, float("-inf"), m * c + tl.log(l))
