# label: wrong
# title: a block of 1024
# says: The block is 1024 long whatever the row is: what lies beyond is neither read nor written.
# names: never written; only the first tile; last tile missing
# base: right_two_rows_per_program_powers_of_two

# --- replace
    softmax_rows[grid](s, y, M, N, *s.stride(), *y.stride(), BM=2, BN=triton.next_power_of_2(N))
# --- with
    softmax_rows[grid](s, y, M, N, *s.stride(), *y.stride(), BM=2, BN=1024)
