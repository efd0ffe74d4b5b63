# label: wrong
# title: K's scale is that of the first block.
# says: K's scale is that of the first block.
# names: K's first scale for all blocks
# base: right_pointers_natural_exponentials_448_instead_256_vs

# --- replace
        ks = tl.load(KS + bh * tl.cdiv(N, 128) + j0 // 128)
# --- with
        ks = tl.load(KS + bh * tl.cdiv(N, 128))
