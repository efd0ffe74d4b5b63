# label: wrong
# title: slope times the place of the key
# says: The bias differs by a constant per row: O and the gradients are right, LSE is not.
# names: the place instead of the distance
# base: right_by_hook

# --- replace
    distance = i + S_k - S_q - j
# --- with
    distance = 0 - j
