# label: wrong
# title: not divided by 1 - p
# says: What is kept is not scaled by 1/(1 − p).
# names: 1/(1 − p) forgotten; one edit
# base: _as_taught

# --- replace
    return tl.where(tl.rand(seed, position) >= p, x / (1 - p), 0.0)
# --- with
    return tl.where(tl.rand(seed, position) >= p, x, 0.0)
