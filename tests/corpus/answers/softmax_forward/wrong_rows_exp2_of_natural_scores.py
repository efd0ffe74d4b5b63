# label: wrong
# title: rows, exp2 of natural scores
# says: exp2 without the factor log2 e.
# names: powers of two
# base: right_two_rows_per_program_powers_of_two

# --- replace
    x = x * 1.4426950408889634
# --- with
