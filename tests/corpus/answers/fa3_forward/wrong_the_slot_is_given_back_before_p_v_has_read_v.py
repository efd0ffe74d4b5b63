# label: wrong
# title: mbarrier.arrive(free.index(slot), count=1) acc = warpgroup_mma_wait(0, deps=[acc])
# says: The slot is given back before P V has read V.
# names: wgmma not waited for; V is given back before its product is over
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(free.index(slot), count=1)
# --- with
        mbarrier.arrive(free.index(slot), count=1)
        acc = warpgroup_mma_wait(0, deps=[acc])
