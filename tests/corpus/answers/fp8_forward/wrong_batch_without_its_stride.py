# label: wrong
# title: V's batch without its stride
# says: The batch's number is added to V's pointer without its stride.
# names: some heads; one edit
# base: right_pointers_natural_exponentials_448_instead_256_vs

# --- replace
        v = tl.load(V + b * vb + h * vh + j[:, None].to(tl.int64) * vn + d[None, :] * vd, mask=ok, other=0.0)
# --- with
        v = tl.load(V + b + h * vh + j[:, None].to(tl.int64) * vn + d[None, :] * vd, mask=ok, other=0.0)
