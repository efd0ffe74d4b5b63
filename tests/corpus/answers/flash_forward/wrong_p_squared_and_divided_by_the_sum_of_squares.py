# label: wrong
# title: P squared, and divided by the sum of squares
# says: P is squared, in l too: that is a softmax of twice the scores.
# names: constant factor
# base: _course_solution

# --- replace
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
# --- with
        l_i = l_i * rescale + tl.sum(p * p, axis=1)
        acc = acc * rescale[:, None] + tl.dot((p * p).to(v.dtype), v, input_precision="ieee")
