# label: wrong
# title: share = tl.dot(ds, k
# says: The share of dQ lacks alpha.
# names: alpha is missing from dQ; constant factor
# base: _course_solution

# --- replace
        share = alpha * tl.dot(ds, k, input_precision="ieee")  # of dQ: other programs have the rest
# --- with
        share = tl.dot(ds, k, input_precision="ieee")  # of dQ: other programs have the rest
