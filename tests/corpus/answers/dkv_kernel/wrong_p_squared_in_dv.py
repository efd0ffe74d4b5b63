# label: wrong
# title: P squared in dV
# says: P is squared in front of dO.
# names: constant factor
# base: _course_solution

# --- replace
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
# --- with
        dv += tl.dot(tl.trans((p * p).to(do.dtype)), do, input_precision="ieee")
