# label: wrong
# title: Stores are not waited for before the buffer is filled again.
# says: Stores are not waited for before the buffer is filled again.
# names: tma store not waited for; tma store never waited for
# base: right_few_programs_walk_over_all_tiles

# --- replace
        tma.store_wait(0)
# --- with
