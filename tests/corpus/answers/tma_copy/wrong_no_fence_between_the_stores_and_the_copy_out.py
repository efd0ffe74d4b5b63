# label: wrong
# title: No fence between the stores and the copy out.
# says: No fence between the stores and the copy out.
# names: no fence
# base: right_through_registers_with_a_fence

# --- replace
    fence_async_shared()
# --- with
