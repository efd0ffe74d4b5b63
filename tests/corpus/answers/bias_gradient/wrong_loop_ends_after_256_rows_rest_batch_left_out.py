# label: wrong
# title: for m0 in range(0, 256, BLOCK):
# says: The loop ends after 256 rows: the rest of the batch is left out.
# names: the first tile only; last tile missing
# base: right_one_program_per_column

# --- replace
    for m0 in range(0, M, BLOCK):
# --- with
    for m0 in range(0, 256, BLOCK):
