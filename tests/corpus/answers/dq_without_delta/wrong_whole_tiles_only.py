# label: wrong
# title: whole tiles only
# says: The last tile is left out where it is not full.
# names: the last, incomplete block of keys is left out
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
    for start in range(0, S_k, BN):
# --- with
    for start in range(0, S_k // BN * BN, BN):
