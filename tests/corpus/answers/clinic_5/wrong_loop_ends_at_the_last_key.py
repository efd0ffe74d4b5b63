# label: wrong
# title: the loop ends at the last key
# says: range(0, S_k - 1, BLOCK) leaves out a last tile of one key.
# names: last tile missing; one edit; loop ends at the last key itself
# base: right_p_masked_where_summed_where_used

# --- replace
    for start in range(0, S_k, BLOCK):
# --- with
    for start in range(0, S_k - 1, BLOCK):
