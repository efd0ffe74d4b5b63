# label: wrong
# title: one program of 64 rows
# says: One program of 64 rows: those that follow are never written.
# names: never written
# base: right_two_rows_per_program_powers_of_two

# --- replace
    grid = (triton.cdiv(M, 2),)
    softmax_rows[grid](s, y, M, N, *s.stride(), *y.stride(), BM=2, BN=triton.next_power_of_2(N))
# --- with
    grid = (1,)
    softmax_rows[grid](s, y, M, N, *s.stride(), *y.stride(), BM=64, BN=triton.next_power_of_2(N))
