# label: wrong
# title: the inner derivative without the outer factor
# says: The cap in front of the tanh cancels the 1 / cap.
# names: the derivative is divided by cap
# base: right_by_sigmoid

# --- replace
    return ds * (1 - share * share)
# --- with
    return ds * (1 - share * share) / extras[0]
