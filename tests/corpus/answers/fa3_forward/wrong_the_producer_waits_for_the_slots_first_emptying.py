# label: wrong
# title: turn = 0
# says: The producer waits for the slot's first emptying.
# names: deadlock; the first emptying is waited for
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
    turn = 1
# --- with
    turn = 0
