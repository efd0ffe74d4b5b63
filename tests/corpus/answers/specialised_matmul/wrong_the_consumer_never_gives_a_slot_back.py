# label: wrong
# title: The consumer never gives a slot back.
# says: The consumer never gives a slot back.
# names: deadlock; slots are never given back
# base: right_one_consumer_slot_and_parity_by_counters

# --- replace
        mbarrier.arrive(empty.index(s), count=1)
# --- with
