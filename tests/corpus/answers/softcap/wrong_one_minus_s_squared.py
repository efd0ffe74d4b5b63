# label: wrong
# title: 1 − s²
# says: s was not divided by cap in the derivative.
# names: the derivative has s where it needs s / cap
# base: right_by_sigmoid

# --- replace
    share = s / extras[0]
# --- with
    share = s
