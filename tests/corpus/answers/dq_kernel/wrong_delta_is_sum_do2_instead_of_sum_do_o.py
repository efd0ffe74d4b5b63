# label: wrong
# title: gi * gi, 1
# says: delta is Σ dO² instead of Σ dO O.
# names: delta from dO alone
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
    delta = tl.sum(gi * tl.load(o + at, mask=ok, other=0.0).to(tl.float32), 1)
# --- with
    delta = tl.sum(gi * gi, 1)
