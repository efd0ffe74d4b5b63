# label: wrong
# title: IS_CAUSAL=True
# says: The mask is always on.
# names: the causal mask is always on
# base: _course_solution

# --- replace
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, IS_CAUSAL=causal,
# --- with
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, IS_CAUSAL=True,
