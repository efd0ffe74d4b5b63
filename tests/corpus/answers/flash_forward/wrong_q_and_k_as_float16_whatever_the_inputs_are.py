# label: wrong
# title: Q and K as float16, whatever the inputs are
# says: Q and K are rounded to fp16, also where they are fp32.
# names: precision
# base: _course_solution

# --- replace
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
# --- with
        s = alpha * tl.dot(q.to(tl.float16), tl.trans(k.to(tl.float16)), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
