# label: wrong
# title: groups of four rows, rounded down
# says: The grid rounds down: a last, incomplete group of rows has no program.
# names: never written
# base: _rows

# --- replace
    rowsum_k[(triton.cdiv(R, 4),)](x, out, R, C, x.stride(0), x.stride(1), RB=4, CB=16)
# --- with
    rowsum_k[(R // 4,)](x, out, R, C, x.stride(0), x.stride(1), RB=4, CB=16)
