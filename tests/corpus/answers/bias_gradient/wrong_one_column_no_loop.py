# label: wrong
# title: one column, no loop
# says: The loop stops after the first block of rows.
# names: the first tile only
# base: right_one_program_per_column

# --- replace
    for m0 in range(0, M, BLOCK):
# --- with
    for m0 in range(0, 1, BLOCK):
