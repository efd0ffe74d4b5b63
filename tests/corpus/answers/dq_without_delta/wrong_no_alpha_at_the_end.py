# label: wrong
# title: no alpha at the end
# says: The scale is missing.
# names: alpha is missing from dQ
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
    g = alpha * (a - delta[:, None] * c)
# --- with
    g = (a - delta[:, None] * c)
