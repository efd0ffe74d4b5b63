# label: wrong
# title: the last block replaces the others
# says: best is the maximum of the last block only, since it is not compared with what was there
# names: the last block alone; one edit
# base: right_by_blocks

# --- replace
        best = tl.maximum(best, tl.max(x, axis=0))
# --- with
        best = tl.max(x, axis=0)
