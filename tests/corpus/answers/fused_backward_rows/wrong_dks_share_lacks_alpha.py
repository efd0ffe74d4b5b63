# label: wrong
# title: dk_share = tl.dot
# says: dK's share lacks alpha.
# names: alpha is missing from dK; constant factor
# base: _course_solution

# --- replace
        dk_share = alpha * tl.dot(tl.trans(ds), q, input_precision="ieee")
# --- with
        dk_share = tl.dot(tl.trans(ds), q, input_precision="ieee")
