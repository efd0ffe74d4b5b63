# label: wrong
# title: tile, R // BR programs
# says: The last rows have no program: the grid is rounded down.
# names: never written; last tile missing
# base: right_four_rows_per_program_the_sum_in_a_helper

# --- replace
    rows_kernel[(triton.cdiv(R, BR),)](x, s, R, C, *x.stride(), BR=BR, BC=triton.next_power_of_2(C))
# --- with
    rows_kernel[(max(1, R // BR),)](x, s, R, C, *x.stride(), BR=BR, BC=triton.next_power_of_2(C))
