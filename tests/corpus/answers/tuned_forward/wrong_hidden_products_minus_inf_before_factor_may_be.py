# label: wrong
# title: Hidden products are −∞ before a factor that may be negative.
# says: Hidden products are −∞ before a factor that may be negative.
# names: mask before alpha; alpha folded into the maximum
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    q = tl.where(alpha < 0, -q, q)
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)
# --- with
    c = alpha * 1.4426950408889634
