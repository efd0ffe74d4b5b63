# label: wrong
# title: tl.dot(ds, v,
# says: The share of dQ is made with V.
# names: dQ from V
# base: _course_solution

# --- replace
        share = alpha * tl.dot(ds, k, input_precision="ieee")  # of dQ: other programs have the rest
# --- with
        share = alpha * tl.dot(ds, v, input_precision="ieee")  # of dQ: other programs have the rest
