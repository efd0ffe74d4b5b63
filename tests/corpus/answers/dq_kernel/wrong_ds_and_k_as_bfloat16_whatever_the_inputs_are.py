# label: wrong
# title: dS and K as bfloat16, whatever the inputs are
# says: dS and K are rounded to a fixed half-precision type, also in fp32.
# names: precision
# base: _course_solution

# --- replace
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
# --- with
        dq += tl.dot(ds.to(tl.bfloat16), k.to(tl.bfloat16), input_precision="ieee")
