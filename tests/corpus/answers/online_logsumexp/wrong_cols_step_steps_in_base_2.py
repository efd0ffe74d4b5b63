# label: wrong
# title: cols // STEP steps in base 2
# says: The number of steps is rounded down: the last, incomplete block is left out.
# names: last block left out; last tile missing
# base: _base2

# --- replace
    for k in range(tl.cdiv(cols, STEP)):
# --- with
    for k in range(cols // STEP):
