# label: wrong
# title: scan, no p anywhere
# says: p in front is forgotten, and the sum is not weighted by p: two mistakes.
# names: p in front forgotten + sum of dp, not weighted by p
# base: right_two_programs_for_all_rows_two_scans_over_each

# --- replace
        acc += pj.to(tl.float32) * dpj.to(tl.float32)
# --- with
        acc += dpj.to(tl.float32)

# --- replace
            tl.store(DS + i * s0 + j * s1, pj * (dpj - mean), mask=j < n)
# --- with
            tl.store(DS + i * s0 + j * s1, dpj - mean, mask=j < n)
