# label: right
# title: split loops, D padded to 64 at least
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
        BLOCK_M=32, BLOCK_N=16, BLOCK_D=max(triton.next_power_of_2(D), 16),
# --- with
        BLOCK_M=32, BLOCK_N=16, BLOCK_D=max(triton.next_power_of_2(D), 64),
