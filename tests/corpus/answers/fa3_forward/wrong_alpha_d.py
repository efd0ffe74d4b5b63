# label: wrong
# title: alpha, D
# says: log2 e is missing.
# names: log2 e is missing
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
        (eater, (od, lse_ptr, qt, kt, vt, qf, kf, vf, free, n, b, h, H, row, S_q, S_k, alpha * 1.4426950408889634, D, BLOCK, CAUSAL)),
# --- with
        (eater, (od, lse_ptr, qt, kt, vt, qf, kf, vf, free, n, b, h, H, row, S_q, S_k, alpha, D, BLOCK, CAUSAL)),
