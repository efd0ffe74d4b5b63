# label: wrong
# title: tl.advance(Vb, (0, BN))
# says: V's block pointer moves along D instead of along the keys.
# names: V's pointer is not advanced; only the first tile
# base: right_block_pointers_with_boundary_checks_128_by_16_tiles

# --- replace
        Vb = tl.advance(Vb, (BN, 0))
# --- with
        Vb = tl.advance(Vb, (0, BN))
