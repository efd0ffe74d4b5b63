# label: wrong
# title: without lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i) # saw no key: P = 0 as well
# says: A query that sees nothing has LSE −inf, and nobody minds it.
# names: no guard for queries that see nothing; inf minus inf
# base: _course_solution

# --- replace
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))  # padding: P = 0 in dK, dV
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: P = 0 as well
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
# --- with
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))  # padding: P = 0 in dK, dV
        
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
