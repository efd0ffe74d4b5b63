# label: wrong
# title: transposed, from the second block, in half precision
# says: Each product is rounded to the inputs' precision before it is added, and the first block is left out.
# names: precision + first tile missing; first tile missing; accumulator in half precision + first tile
#   missing; first block of K left out
# base: right_three_persistent_programs_transposed_tiles

# --- replace
        for k0 in range(0, K, SIZE):
# --- with
        for k0 in range(SIZE, K, SIZE):

# --- replace
            accT += tl.dot(bT, aT, input_precision="ieee")
# --- with
            accT += tl.dot(bT, aT, input_precision="ieee").to(aT.dtype).to(tl.float32)
