# label: wrong
# title: IS_CAUSAL=False
# says: The mask is never on.
# names: mask forgotten; leak from the future
# base: _course_solution

# --- replace
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, IS_CAUSAL=causal,
# --- with
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, IS_CAUSAL=False,
