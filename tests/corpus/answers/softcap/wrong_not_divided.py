# label: wrong
# title: cap · tanh(x)
# says: x is not divided by cap.
# names: x is not divided by cap
# base: right_by_sigmoid

# --- replace
    half = tl.sigmoid(2 * x / extras[0])
# --- with
    half = tl.sigmoid(2 * x)
