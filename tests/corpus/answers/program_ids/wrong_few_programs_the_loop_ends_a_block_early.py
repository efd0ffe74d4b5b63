# label: wrong
# title: few programs, the loop ends a block early
# says: The last block is skipped: n_blocks - 1 leaves it out, and its elements are never written.
# names: tail without a program; never written; last tile missing
# base: right_three_programs_share_the_blocks_in_a_loop

# --- replace
    for blk in range(tl.program_id(0), n_blocks, step):
# --- with
    for blk in range(tl.program_id(0), n_blocks - 1, step):
