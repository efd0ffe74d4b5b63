# label: wrong
# title: delta is not subtracted.
# says: delta is not subtracted.
# names: delta omitted
# base: _course_solution

# --- replace
        ds = (p * (dp - delta[None, :])).to(k.dtype)
# --- with
        ds = (p * dp).to(k.dtype)
