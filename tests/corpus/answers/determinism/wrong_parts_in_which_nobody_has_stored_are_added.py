# label: wrong
# title: wrote = blocks
# says: Parts in which nobody has stored are added.
# names: uninitialised memory
# base: _course_solution

# --- replace
        wrote = tl.minimum(blocks, tl.cdiv(unseen_from, BLOCK_K))
# --- with
        wrote = blocks
