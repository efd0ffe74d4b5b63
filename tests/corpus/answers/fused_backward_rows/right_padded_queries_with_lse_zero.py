# label: right
# title: padded queries with lse zero
# base: _course_solution_without_markers

# --- replace
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))  # once, for the whole scan
# --- with
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)  # P = 1 meets rows of zeros

# --- replace
        dq += tl.dot(ds, k, input_precision="ieee")
# --- with
        dq = tl.dot(ds, k, dq, input_precision="ieee")
