# label: wrong
# title: The producer waits for a first emptying.
# says: The producer waits for a first emptying.
# names: deadlock; the first emptying is waited for
# base: right_one_consumer_slot_and_parity_by_counters

# --- replace
    parity = 1
# --- with
    parity = 0
