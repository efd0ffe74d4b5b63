# label: wrong
# title: The sum for O is rescaled twice.
# says: The sum for O is rescaled twice.
# names: acc rescaled twice; one edit
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    acc = acc * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
# --- with
    acc = acc * f[:, None] * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
