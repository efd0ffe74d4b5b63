# label: right
# title: LSE filled with 0: P is 1 in padding, and meets zeros of Q and dO
# base: _course_solution

# --- replace
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))  # padding: P = 0 in dK, dV
# --- with
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)  # padding: P = 0 in dK, dV
