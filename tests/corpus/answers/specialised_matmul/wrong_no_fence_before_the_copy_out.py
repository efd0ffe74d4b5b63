# label: wrong
# title: No fence before the copy out.
# says: No fence before the copy out.
# names: no fence; stored without a fence
# base: right_one_consumer_slot_and_parity_by_counters

# --- replace
    fence_async_shared()
# --- with
