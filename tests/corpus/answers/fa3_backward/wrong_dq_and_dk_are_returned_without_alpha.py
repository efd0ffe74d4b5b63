# label: wrong
# title: dQ and dK are returned without alpha.
# says: dQ and dK are returned without alpha.
# names: alpha is missing from dQ and dK; constant factor
# base: _course_solution

# --- replace
    k.store((dk * alpha).to(k.dtype))
# --- with
    k.store((dk).to(k.dtype))

# --- replace
    return (dq_sum[:, :, :S_q] * alpha).to(q.dtype), dk, dv
# --- with
    return (dq_sum[:, :, :S_q]).to(q.dtype), dk, dv
