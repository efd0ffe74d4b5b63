# label: wrong
# title: the step without the start
# says: Every part scans the same tiles, every fourth one: the others are never seen.
# names: the parts scan the same tiles; never read
# base: _clinic_3_kernel

# --- replace
    for start in range(0, S_q, BLOCK):
# --- with
    for start in range(0, S_q, PARTS * BLOCK):
