# label: wrong
# title: base 2, no ln 2
# says: The result is left in powers of two: multiply by ln 2.
# names: constant factor
# base: right_powers_of_two_a_while_loop_that_starts_at_minus_1e30

# --- replace
    tl.store(out_ptr + r, (top + tl.log2(total)) * LN2)
# --- with
    tl.store(out_ptr + r, top + tl.log2(total))
