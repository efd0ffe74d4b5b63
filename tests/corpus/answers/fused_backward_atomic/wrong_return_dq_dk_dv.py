# label: wrong
# title: return dq, dk, dv
# says: dQ is returned in fp32, whatever q is.
# names: shape; launcher
# base: _course_solution

# --- replace
    return dq.to(q.dtype), dk, dv
# --- with
    return dq, dk, dv
