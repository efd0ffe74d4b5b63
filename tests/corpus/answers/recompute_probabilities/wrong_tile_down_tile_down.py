# label: wrong
# title: tile // down, tile % down
# says: A tile's number is taken apart by the number of tiles in a column, not in a row: where the two differ,
#   some tiles have no program and others lie outside.
# names: never written
# base: _rebuild

# --- replace
    rebuild[(down * across,)](s, lse, p, R, C, *s.stride(), lse.stride(0), across, TR=16, TC=16)
# --- with
    rebuild[(down * across,)](s, lse, p, R, C, *s.stride(), lse.stride(0), down, TR=16, TC=16)
