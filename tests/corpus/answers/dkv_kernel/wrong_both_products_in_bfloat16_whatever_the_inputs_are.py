# label: wrong
# title: both products in bfloat16, whatever the inputs are
# says: P, dS and what they meet are rounded to half precision, also in fp32.
# names: precision
# base: _course_solution

# --- replace
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
# --- with
        dv += tl.dot(tl.trans(p.to(tl.bfloat16)), do.to(tl.bfloat16), input_precision="ieee")

# --- replace
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
# --- with
        dk += tl.dot(tl.trans(ds.to(tl.bfloat16)), q.to(tl.bfloat16), input_precision="ieee")
