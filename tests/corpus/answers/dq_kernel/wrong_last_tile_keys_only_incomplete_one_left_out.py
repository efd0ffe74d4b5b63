# label: wrong
# title: tiles = Sk // B
# says: The last tile of keys, the only incomplete one, is left out.
# names: the last, incomplete block of keys is left out; last tile missing
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
    tiles = tl.cdiv(Sk, B)
# --- with
    tiles = Sk // B
