# label: wrong
# title: an inner block of 8
# says: A GPU's `tl.dot` needs an inner block of at least 16: with 8 this does not compile.
# names: crashed
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
        BLOCK_SIZE_M=16, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32, GROUP=2,
# --- with
        BLOCK_SIZE_M=16, BLOCK_SIZE_N=32, BLOCK_SIZE_K=8, GROUP=2,
