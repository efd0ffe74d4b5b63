# label: wrong
# title: scan, every other row (onto torch.empty)
# says: Odd rows have no program: the loop begins at 2 · program.
# names: never written
# base: right_two_programs_for_all_rows_two_scans_over_each

# --- replace
    for i in range(tl.program_id(0).to(tl.int64), rows, tl.num_programs(0)):
# --- with
    for i in range(2 * tl.program_id(0), rows, 2 * tl.num_programs(0)):

# --- replace
    ds = torch.zeros(p.shape, dtype=p.dtype)
# --- with
    ds = torch.empty(p.shape, dtype=p.dtype)
