# label: wrong
# title: tl.dot(ds, q
# says: dK's share is made without the transpose.
# names: dS not transposed in dK
# base: _course_solution

# --- replace
        dk_share = alpha * tl.dot(tl.trans(ds), q, input_precision="ieee")
# --- with
        dk_share = alpha * tl.dot(ds, q, input_precision="ieee")
