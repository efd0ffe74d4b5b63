# label: wrong
# title: CAUSAL=False
# says: The launcher does not pass the flag: nothing is ever hidden.
# names: no mask, whatever the flag says
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
        CAUSAL=causal, BM=16, BN=16, BD=BD,
# --- with
        CAUSAL=False, BM=16, BN=16, BD=BD,
