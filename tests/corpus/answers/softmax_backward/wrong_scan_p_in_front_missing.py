# label: wrong
# title: scan, p in front missing
# says: p is missing in front of the bracket.
# names: p in front forgotten
# base: right_two_programs_for_all_rows_two_scans_over_each

# --- replace
            tl.store(DS + i * s0 + j * s1, pj * (dpj - mean), mask=j < n)
# --- with
            tl.store(DS + i * s0 + j * s1, dpj - mean, mask=j < n)
