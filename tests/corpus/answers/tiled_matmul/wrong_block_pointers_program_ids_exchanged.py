# label: wrong
# title: block pointers, program ids exchanged
# says: The program's row and column are exchanged: the grid counts columns first.
# names: programs swapped; never written
# base: right_block_pointers_the_grids_axes_the_other_way_round

# --- replace
    pm, pn = tl.program_id(1), tl.program_id(0)
# --- with
    pn, pm = tl.program_id(1), tl.program_id(0)
