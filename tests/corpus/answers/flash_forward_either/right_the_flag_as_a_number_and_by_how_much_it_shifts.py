# label: right
# title: the flag as a number, and by how much it shifts
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
    if CAUSAL:
# --- with
    if CAUSAL == 1:

# --- replace
        CAUSAL=causal, BM=16, BN=16, BD=BD,
# --- with
        CAUSAL=1 if causal else 0, BM=16, BN=16, BD=BD,
