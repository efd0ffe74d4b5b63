# label: wrong
# title: The producer does not wait for empty slots.
# says: The producer does not wait for empty slots.
# names: expected again; overwritten; filled without being empty; phase overrun
# base: right_one_consumer_slot_and_parity_by_counters

# --- replace
        mbarrier.wait(empty.index(s), parity)
# --- with
