# label: wrong
# title: b is not waited for.
# says: b is not waited for.
# names: copy not waited for; the tiles are not waited for
# base: right_barrier_for_one_for_b_copies_asked_for_behind

# --- replace
        mbarrier.wait(bbar.index(here), i // S & 1)
# --- with
