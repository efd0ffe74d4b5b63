# label: wrong
# title: The tile is not waited for.
# says: The tile is not waited for.
# names: copy not waited for; the tile is not waited for
# base: right_a_single_slot_one_sum_at_the_end

# --- replace
        mbarrier.wait(bar, i & 1)
# --- with
