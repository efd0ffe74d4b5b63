# label: wrong
# title: a - c
# says: Σ P K is subtracted without delta.
# names: delta not multiplied in
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
    g = alpha * (a - delta[:, None] * c)
# --- with
    g = alpha * (a - c)
