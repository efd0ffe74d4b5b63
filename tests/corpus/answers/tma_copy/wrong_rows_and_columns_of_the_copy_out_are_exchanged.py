# label: wrong
# title: Rows and columns of the copy out are exchanged.
# says: Rows and columns of the copy out are exchanged.
# names: row and column exchanged; race
# base: right_few_programs_walk_over_all_tiles

# --- replace
        tma.async_copy_shared_to_global(dst, [row, col], buf)
# --- with
        tma.async_copy_shared_to_global(dst, [col, row], buf)
