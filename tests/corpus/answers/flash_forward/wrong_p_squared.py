# label: wrong
# title: P squared
# says: P is squared in front of V, and l is the sum of P itself.
# names: constant factor
# base: _course_solution

# --- replace
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
# --- with
        acc = acc * rescale[:, None] + tl.dot((p * p).to(v.dtype), v, input_precision="ieee")
