# label: wrong
# title: Nothing is waited for.
# says: Nothing is waited for.
# names: copy not waited for; the tile is not waited for
# base: right_expects_behind_the_copy_columns_first_in_the_grid

# --- replace
    mbarrier.wait(bar, 0)
# --- with
