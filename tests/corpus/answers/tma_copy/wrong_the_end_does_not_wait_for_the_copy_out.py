# label: wrong
# title: The end does not wait for the copy out.
# says: The end does not wait for the copy out.
# names: tma store never waited for; the copy out is not waited for
# base: right_through_registers_with_a_fence

# --- replace
    tma.store_wait(0)
# --- with
