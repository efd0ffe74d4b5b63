# label: wrong
# title: without mbarrier.wait(vf.index(slot), turn)
# says: V is read before its barrier was waited for.
# names: copy not waited for; V is not waited for
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
        mbarrier.wait(vf.index(slot), turn)
# --- with
