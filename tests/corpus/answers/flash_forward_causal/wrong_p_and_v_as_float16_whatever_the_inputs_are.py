# label: wrong
# title: P and V as float16, whatever the inputs are
# says: P and V are rounded to a fixed half-precision type, also where the inputs are fp32.
# names: precision
# base: _course_solution

# --- replace
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
# --- with
        acc = acc * rescale[:, None] + tl.dot(p.to(tl.float16), v.to(tl.float16), input_precision="ieee")
