# label: wrong
# title: position within the head
# says: The heads all drop the same weights, since the position does not contain b and h.
# names: every head drops the same weights; one edit
# base: _as_taught

# --- replace
    position = ((b * H + h) * S_q + i) * S_k + j
# --- with
    position = i * S_k + j
