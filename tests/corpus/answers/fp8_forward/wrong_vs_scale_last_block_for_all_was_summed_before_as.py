# label: wrong
# title: V's scale is that of the last block, for all that was summed before as well.
# says: V's scale is that of the last block, for all that was summed before as well.
# names: the unit is not changed
# base: right_pointers_natural_exponentials_448_instead_256_vs

# --- replace
        acc = acc * f[:, None] + tl.dot(p8, v) * (vs / 448.0)
# --- with
        acc = acc * f[:, None] + tl.dot(p8, v) * (1 / 448.0)

# --- replace
    o = acc / l1[:, None]
# --- with
    o = acc * tl.load(VS + bh * tl.cdiv(N, 128) + (N - 1) // 128) / l1[:, None]
