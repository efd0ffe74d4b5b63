# label: wrong
# title: tl.dot(do, tl.trans(k)
# says: dP is made with K.
# names: dP from K
# base: _course_solution

# --- replace
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
# --- with
        dp = tl.dot(do, tl.trans(k), input_precision="ieee")
