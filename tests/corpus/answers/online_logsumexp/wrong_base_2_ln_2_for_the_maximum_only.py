# label: wrong
# title: base 2, ln 2 for the maximum only
# says: log2 of the sum stands beside a maximum that was scaled back: the ln 2 is missing for the logarithm.
# names: base-2 logarithm
# base: right_powers_of_two_a_while_loop_that_starts_at_minus_1e30

# --- replace
    tl.store(out_ptr + r, (top + tl.log2(total)) * LN2)
# --- with
    tl.store(out_ptr + r, top * LN2 + tl.log2(total))
