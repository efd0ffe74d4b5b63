# label: wrong
# title: base 2, while k + BLOCK <= cols
# says: The last, incomplete block is left out.
# names: last block left out; last tile missing
# base: right_powers_of_two_a_while_loop_that_starts_at_minus_1e30

# --- replace
    while k < cols:
# --- with
    while k + BLOCK <= cols:
