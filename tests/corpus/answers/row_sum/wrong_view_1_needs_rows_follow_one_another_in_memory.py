# label: wrong
# title: x.view(-1)
# says: view(-1) needs rows that follow one another in memory; a strided x has none.
# names: crashed
# base: right_four_rows_per_program_the_sum_in_a_helper

# --- replace
    s = x.new_empty(R)
# --- with
    x = x.view(-1)
    s = x.new_empty(R)

# --- replace
    rows_kernel[(triton.cdiv(R, BR),)](x, s, R, C, *x.stride(), BR=BR, BC=triton.next_power_of_2(C))
# --- with
    rows_kernel[(triton.cdiv(R, BR),)](x, s, R, C, C, 1, BR=BR, BC=triton.next_power_of_2(C))
