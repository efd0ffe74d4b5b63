# label: wrong
# title: S_q for both
# says: S_q for both: with more keys than queries the last keys are never written.
# names: never written; the smaller of both; the number of queries for both; out_of_bounds
# base: _clinic_10_kernel

# --- replace
    clinic_10_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_k, S_q, D=D, BLOCK=BLOCK)
# --- with
    clinic_10_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_q, D=D, BLOCK=BLOCK)
