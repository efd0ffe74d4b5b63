# label: wrong
# title: no guard
# says: A query that sees nothing: −∞ + ∞ in the exponent.
# names: no guard for queries that see nothing; inf minus inf
# base: right_delta_inside_kernel_if_in_loop_instead_end_backwards

# --- replace
    L = tl.where(L == float("-inf"), float("inf"), L)
# --- with
