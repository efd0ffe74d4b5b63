# label: wrong
# title: return dk, dv, dq.to(q.dtype)
# says: The gradients are returned in the order dk, dv, dq.
# names: outputs exchanged; shape
# base: _course_solution

# --- replace
    return dq.to(q.dtype), dk, dv
# --- with
    return dk, dv, dq.to(q.dtype)
