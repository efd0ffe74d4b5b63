# label: wrong
# title: one column, divided by M
# says: You divided by the number of rows.
# names: mean instead of sum
# base: right_one_program_per_column

# --- replace
    tl.store(db_ptr + n, acc)
# --- with
    tl.store(db_ptr + n, acc / M)
