# label: wrong
# title: dp
# says: delta is forgotten.
# names: delta omitted
# base: _course_solution

# --- replace
        ds = (p * (dp - delta_i[:, None])).to(q.dtype)
# --- with
        ds = (p * dp).to(q.dtype)
