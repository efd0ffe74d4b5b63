# label: wrong
# title: tanh(x / cap)
# says: The factor cap in front of the tanh is missing.
# names: cap is missing in front
# base: right_by_sigmoid

# --- replace
    return extras[0] * (half + half - 1)
# --- with
    return half + half - 1

# --- replace
    share = s / extras[0]
# --- with
    share = s
