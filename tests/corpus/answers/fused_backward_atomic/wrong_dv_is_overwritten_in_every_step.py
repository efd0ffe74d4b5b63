# label: wrong
# title: dv = tl.dot(
# says: dv is overwritten in every step.
# names: only the last tile remains; only the last tile
# base: _course_solution

# --- replace
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
# --- with
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
