# label: wrong
# title: ds = (alpha * p * (dp
# says: alpha is in dS and once more in dQ and in dK.
# names: alpha twice in dQ and dK; constant factor
# base: _course_solution

# --- replace
        ds = (p * (dp - delta_i[:, None])).to(q.dtype)
# --- with
        ds = (alpha * p * (dp - delta_i[:, None])).to(q.dtype)
