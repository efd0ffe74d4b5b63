# label: wrong
# title: The consumer never gives a slot back.
# says: The consumer never gives a slot back.
# names: deadlock
# base: right_a_producer_and_a_consumer

# --- replace
        mbarrier.arrive(empty.index(i % S), count=1)
# --- with
