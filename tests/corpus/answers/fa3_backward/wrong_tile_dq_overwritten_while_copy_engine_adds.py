# label: wrong
# title: The tile of dQ is overwritten while the copy engine adds it.
# says: The tile of dQ is overwritten while the copy engine adds it.
# names: dQ's tile is still being read; tma store not waited for
# base: _course_solution

# --- replace
        tma.store_wait(0)  # the copy engine has read the block before
# --- with
