# label: wrong
# title: curr_m stays where it is
# says: The counter of the loop is never advanced: the first tile of queries again and again.
# names: only the first tile
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        curr_m += BLOCK_M1
# --- with
