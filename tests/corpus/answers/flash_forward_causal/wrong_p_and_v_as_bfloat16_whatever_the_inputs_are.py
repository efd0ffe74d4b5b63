# label: wrong
# title: P and V as bfloat16, whatever the inputs are
# says: P and V are rounded to a fixed half-precision type, also where the inputs are fp32.
# names: precision
# base: _course_solution

# --- replace
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
# --- with
        acc = acc * rescale[:, None] + tl.dot(p.to(tl.bfloat16), v.to(tl.bfloat16), input_precision="ieee")
