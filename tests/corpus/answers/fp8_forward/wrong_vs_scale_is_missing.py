# label: wrong
# title: V's scale is missing.
# says: V's scale is missing.
# names: V's scale forgotten
# base: right_pointers_natural_exponentials_448_instead_256_vs

# --- replace
        acc = acc * f[:, None] + tl.dot(p8, v) * (vs / 448.0)
# --- with
        acc = acc * f[:, None] + tl.dot(p8, v) * (1.0 / 448.0)
