# label: wrong
# title: a alone
# says: What delta takes away is missing.
# names: delta left out
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
    g = alpha * (a - delta[:, None] * c)
# --- with
    g = alpha * a
