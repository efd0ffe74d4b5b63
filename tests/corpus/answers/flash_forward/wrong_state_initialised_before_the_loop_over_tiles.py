# label: wrong
# title: state initialised before the loop over tiles
# says: m, l and acc are not reset for the next block of queries that the program takes.
# names: state not reset
# base: right_five_persistent_programs_for_all_tiles_all_heads

# --- replace
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
# --- with
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, BD), tl.float32)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):

# --- replace
        m = tl.full((BLOCK,), -float("inf"), tl.float32)
        l = tl.zeros((BLOCK,), tl.float32)
        acc = tl.zeros((BLOCK, BD), tl.float32)
# --- with
