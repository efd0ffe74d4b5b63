# label: wrong
# title: without mbarrier.wait(kf.index(slot), turn)
# says: The barrier of K's slot is not waited for.
# names: copy not waited for; K is not waited for
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
        mbarrier.wait(kf.index(slot), turn)
# --- with
