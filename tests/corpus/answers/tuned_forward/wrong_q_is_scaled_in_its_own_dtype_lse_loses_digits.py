# label: wrong
# title: q is scaled in its own dtype: LSE loses digits.
# says: q is scaled in its own dtype: LSE loses digits.
# names: Q scaled in its own dtype; one edit
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    q = tl.where(alpha < 0, -q, q)
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)
# --- with
    q = (q * (alpha * 1.4426950408889634)).to(q.dtype)
    c = 1.0
