# label: wrong
# title: kept if the number is below p
# says: Weights are kept where they should be dropped.
# names: kept and dropped exchanged; one edit
# base: _as_taught

# --- replace
    return tl.where(tl.rand(seed, position) >= p, x / (1 - p), 0.0)
# --- with
    return tl.where(tl.rand(seed, position) < p, x / (1 - p), 0.0)
