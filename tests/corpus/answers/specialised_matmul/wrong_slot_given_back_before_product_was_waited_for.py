# label: wrong
# title: The slot is given back before its product was waited for.
# says: The slot is given back before its product was waited for.
# names: wgmma not waited for; overwritten; given back while it is read
# base: right_one_consumer_slot_and_parity_by_counters

# --- replace
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index(s), count=1)
# --- with
        mbarrier.arrive(empty.index(s), count=1)
        acc = warpgroup_mma_wait(0, deps=[acc])
