# label: wrong
# title: tl.dot(tl.trans(ds), k,
# says: The share of dQ is made from the transposed dS.
# names: dQ from dS transposed
# base: _course_solution

# --- replace
        share = alpha * tl.dot(ds, k, input_precision="ieee")  # of dQ: other programs have the rest
# --- with
        share = alpha * tl.dot(tl.trans(ds), k, input_precision="ieee")  # of dQ: other programs have the rest
