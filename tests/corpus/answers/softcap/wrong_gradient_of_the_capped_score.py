# label: wrong
# title: the derivative taken at s
# says: tanh was applied twice: s is capped already.
# names: the derivative at the wrong place
# base: right_by_sigmoid

# --- replace
    share = s / extras[0]
# --- with
    share = 2 * tl.sigmoid(2 * s / extras[0]) - 1
