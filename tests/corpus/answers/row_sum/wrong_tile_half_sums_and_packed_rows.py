# label: wrong
# title: tile, half sums and packed rows
# says: fp16 sums, and the columns of a view are taken as neighbours: two mistakes.
# names: summed in half precision + rows taken as packed; precision + rows taken as packed; out_of_bounds
# base: right_four_rows_per_program_the_sum_in_a_helper

# --- replace
    return tl.sum(values.to(tl.float32), axis=1)
# --- with
    return tl.sum(values, axis=1)

# --- replace
    rows_kernel[(triton.cdiv(R, BR),)](x, s, R, C, *x.stride(), BR=BR, BC=triton.next_power_of_2(C))
# --- with
    rows_kernel[(triton.cdiv(R, BR),)](x, s, R, C, C, 1, BR=BR, BC=triton.next_power_of_2(C))
