# label: wrong
# title: base 2, top starts at 0
# says: The running maximum starts at 0: a row far below zero underflows, and log 0 is −inf.
# names: maximum starts at 0
# base: right_powers_of_two_a_while_loop_that_starts_at_minus_1e30

# --- replace
    top = -1.0e30
# --- with
    top = 0.0
