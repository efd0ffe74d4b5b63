# label: wrong
# title: rows, strides of s for y
# says: The store is addressed with the strides of s.
# names: strides of s used for p; out_of_bounds
# base: right_two_rows_per_program_powers_of_two

# --- replace
    softmax_rows[grid](s, y, M, N, *s.stride(), *y.stride(), BM=2, BN=triton.next_power_of_2(N))
# --- with
    softmax_rows[grid](s, y, M, N, *s.stride(), *s.stride(), BM=2, BN=triton.next_power_of_2(N))
