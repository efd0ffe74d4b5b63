# label: wrong
# title: mean minus dp
# says: Both signs are wrong.
# names: the sign of ds; sign
# base: right_two_programs_for_all_rows_two_scans_over_each

# --- replace
            tl.store(DS + i * s0 + j * s1, pj * (dpj - mean), mask=j < n)
# --- with
            tl.store(DS + i * s0 + j * s1, pj * (mean - dpj), mask=j < n)
