# label: wrong
# title: BLOCK_D = 64
# says: BLOCK_D is 64 whatever D is: the components beyond are neither read nor written.
# names: never written; only the first tile; last tile missing
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        BLOCK_M1=BLOCK_M1, BLOCK_N1=BLOCK_N1, BLOCK_DMODEL=max(16, triton.next_power_of_2(HEAD_DIM)), CAUSAL=causal,
# --- with
        BLOCK_M1=BLOCK_M1, BLOCK_N1=BLOCK_N1, BLOCK_DMODEL=64, CAUSAL=causal,
