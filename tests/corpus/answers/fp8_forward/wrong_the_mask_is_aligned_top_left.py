# label: wrong
# title: The mask is aligned top-left.
# says: The mask is aligned top-left.
# names: aligned top-left
# base: right_pointers_natural_exponentials_448_instead_256_vs

# --- replace
        stop = tl.minimum(N, tl.maximum(0, i0 + BM + N - M))
# --- with
        stop = tl.minimum(N, i0 + BM)

# --- replace
            seen = seen & (j[None, :] <= i[:, None] + N - M)
# --- with
            seen = seen & (j[None, :] <= i[:, None])
