# label: wrong
# title: three passes, the last one too short
# says: The last, incomplete block of each row is never stored.
# names: never written; last tile missing
# base: right_three_passes_over_memory_in_blocks_of_16

# --- replace
    for last in range(0, n_cols, BLOCK):
# --- with
    for last in range(0, n_cols - BLOCK + 1, BLOCK):
