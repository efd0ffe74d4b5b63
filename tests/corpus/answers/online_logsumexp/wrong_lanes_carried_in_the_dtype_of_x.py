# label: wrong
# title: lanes, carried in the dtype of x
# says: Scores and exponentials stay in half precision.
# names: exponentials in half precision; precision
# base: right_a_running_maximum_for_every_lane

# --- replace
        s = s * tl.exp(m - ref) + tl.exp(v - ref)
# --- with
        s = s * tl.exp(m - ref) + tl.exp(v - ref).to(x_ptr.dtype.element_ty).to(tl.float32)
