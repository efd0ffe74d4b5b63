# label: wrong
# title: scan, the inner product's loop too short
# says: The scan of the inner product stops before the last, incomplete block.
# names: last tile missing; inner product without the last block
# base: right_two_programs_for_all_rows_two_scans_over_each

# --- replace
    for start in tl.range(0, n, BLOCK):
# --- with
    for start in tl.range(0, n - n % BLOCK, BLOCK):
