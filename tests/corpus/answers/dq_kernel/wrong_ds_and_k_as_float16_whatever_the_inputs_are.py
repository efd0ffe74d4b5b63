# label: wrong
# title: dS and K as float16, whatever the inputs are
# says: dS and K are rounded to a fixed half-precision type, also in fp32.
# names: precision
# base: _course_solution

# --- replace
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
# --- with
        dq += tl.dot(ds.to(tl.float16), k.to(tl.float16), input_precision="ieee")
