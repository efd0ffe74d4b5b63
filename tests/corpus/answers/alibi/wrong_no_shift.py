# label: wrong
# title: the distance is i − j
# says: S_k − S_q is missing from the distance: LSE is off by slope times that.
# names: distance from the top-left
# base: right_by_hook

# --- replace
    distance = i + S_k - S_q - j
# --- with
    distance = i - j
