# label: wrong
# title: range(tl.program_id(0), tiles - 1,
# says: The persistent loop stops one tile early: the last block of queries is never written.
# names: never written
# base: right_five_persistent_programs_for_all_tiles_all_heads

# --- replace
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
# --- with
    for tile in range(tl.program_id(0), tiles - 1, tl.num_programs(0)):
