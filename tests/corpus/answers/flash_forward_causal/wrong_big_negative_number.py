# label: wrong
# title: big negative number
# says: masked scores are −1e9 instead of −inf (a torch habit): in a row that sees no key all of them are
#   equal, so O is a mean of V and LSE −1e9 instead of 0 and −inf.
# names: a finite number for −inf
# base: _course_solution_without_markers

# --- replace
        s = tl.where(seen, s, -float("inf"))
# --- with
        s = tl.where(seen, s, -1.0e9)
