# label: right
# title: keys from the last tile to the first, powers of two
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
    for start in range(0, S_k, BN):
        at = start + n
# --- with
    for turn in range(0, tl.cdiv(S_k, BN)):
        at = (tl.cdiv(S_k, BN) - 1 - turn) * BN + n

# --- replace
        p = tl.exp(s - lse[:, None])
# --- with
        p = tl.exp2((s - lse[:, None]) * 1.4426950408889634)
