# label: wrong
# title: The parity is the other one.
# says: The parity is the other one.
# names: phase is off; the phase is always the other one
# base: right_a_single_slot_one_sum_at_the_end

# --- replace
        mbarrier.wait(bar, i & 1)
# --- with
        mbarrier.wait(bar, i & 1 ^ 1)
