# label: wrong
# title: a hard cap
# says: Scores are clamped, and the soft cap is a tanh.
# names: a hard cap
# base: right_by_sigmoid

# --- replace
    half = tl.sigmoid(2 * x / extras[0])
    return extras[0] * (half + half - 1)
# --- with
    return tl.minimum(tl.maximum(x, -extras[0]), extras[0])

# --- replace
    share = s / extras[0]
    return ds * (1 - share * share)
# --- with
    return tl.where(tl.abs(x) < extras[0], ds, 0.0)
