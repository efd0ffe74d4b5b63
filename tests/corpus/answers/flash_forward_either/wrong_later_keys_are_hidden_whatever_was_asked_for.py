# label: wrong
# title: CAUSAL=True
# says: Later keys are hidden whatever was asked for.
# names: a mask, whatever the flag says
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
        CAUSAL=causal, BM=16, BN=16, BD=BD,
# --- with
        CAUSAL=True, BM=16, BN=16, BD=BD,
