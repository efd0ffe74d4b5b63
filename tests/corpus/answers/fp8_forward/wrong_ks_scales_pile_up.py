# label: wrong
# title: K's scales pile up.
# says: qs is multiplied by the scale of each tile's block of K and keeps it: from the second tile on the scores carry the scales of all tiles before.
# names: one edit
# base: right_pointers_natural_exponentials_448_instead_256_vs

# --- replace
        ks = tl.load(KS + bh * tl.cdiv(N, 128) + j0 // 128)
# --- with
        qs *= tl.load(KS + bh * tl.cdiv(N, 128) + j0 // 128)
# --- replace
        s = tl.dot(q, tl.trans(k)) * (alpha * qs * ks)
# --- with
        s = tl.dot(q, tl.trans(k)) * (alpha * qs)
