# label: wrong
# title: the sum in bfloat16, converted at every step
# says: The sum is carried in half precision and rounded at every step; keep it in fp32 until the end.
# names: accumulator in half precision; precision
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
# --- with
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.bfloat16)

# --- replace
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
# --- with
        accumulator = (accumulator + tl.dot(a, b, input_precision="ieee")).to(tl.bfloat16)
