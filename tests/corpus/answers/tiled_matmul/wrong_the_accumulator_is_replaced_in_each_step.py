# label: wrong
# title: pointers, accumulator = tl.dot(a, b)
# says: The accumulator is replaced in each step.
# names: accumulator overwritten; only the last tile
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
# --- with
        accumulator = tl.dot(a, b, input_precision="ieee")
