# label: wrong
# title: without fence_async_shared()
# says: The fence behind the store of O is missing.
# names: no fence
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
    fence_async_shared()
# --- with
