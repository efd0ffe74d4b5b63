# label: wrong
# title: h = n // S
# says: The head is n // S without the remainder by H: from the second batch entry on it counts past the heads
#   that there are.
# names: out_of_bounds; some heads
# base: _delta

# --- replace
    h = (n // S) % H
# --- with
    h = n // S
