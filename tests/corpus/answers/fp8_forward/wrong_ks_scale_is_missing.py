# label: wrong
# title: K's scale is missing.
# says: K's scale is missing.
# names: K's scale forgotten
# base: right_pointers_natural_exponentials_448_instead_256_vs

# --- replace
        s = tl.dot(q, tl.trans(k)) * (alpha * qs * ks)
# --- with
        s = tl.dot(q, tl.trans(k)) * (alpha * qs)
