# label: wrong
# title: both products in float16, whatever the inputs are
# says: P, dS and what they meet are rounded to half precision, also in fp32.
# names: precision
# base: _course_solution

# --- replace
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
# --- with
        dv += tl.dot(tl.trans(p.to(tl.float16)), do.to(tl.float16), input_precision="ieee")

# --- replace
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
# --- with
        dk += tl.dot(tl.trans(ds.to(tl.float16)), q.to(tl.float16), input_precision="ieee")
