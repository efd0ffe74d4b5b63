# label: wrong
# title: distances begin at 1
# says: The key at the own place has distance 0.
# names: one step too far
# base: right_by_hook

# --- replace
    distance = i + S_k - S_q - j
# --- with
    distance = i + S_k - S_q - j + 1
