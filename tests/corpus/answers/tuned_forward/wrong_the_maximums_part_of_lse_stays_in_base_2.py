# label: wrong
# title: The maximum's part of LSE stays in base 2.
# says: The maximum's part of LSE stays in base 2.
# names: LSE in base 2
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    lse = tl.where(l == 0.0, float("-inf"), m * c * 0.6931471805599453 + tl.log(l))
# --- with
    lse = tl.where(l == 0.0, float("-inf"), m * c + tl.log(l))
