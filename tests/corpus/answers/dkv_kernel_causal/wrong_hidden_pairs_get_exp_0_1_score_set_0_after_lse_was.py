# label: wrong
# title: s - lse[:, None], 0.0)
# says: Hidden pairs get exp(0) = 1: the score is set to 0 after LSE was subtracted.
# names: hidden pairs weigh 1
# base: right_one_program_per_pair_tiles_sees_anything_atomics

# --- replace
        s = tl.where(see, s - lse[:, None], -1.0e30)
# --- with
        s = tl.where(see, s - lse[:, None], 0.0)
