# label: wrong
# title: P squared in dS
# says: dS has P squared: P is multiplied in twice.
# names: constant factor
# base: _course_solution

# --- replace
        ds = p * (dp - delta_i[:, None])
# --- with
        ds = p * p * (dp - delta_i[:, None])
