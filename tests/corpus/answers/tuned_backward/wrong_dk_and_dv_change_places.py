# label: wrong
# title: dK and dV change places.
# says: dK and dV change places.
# names: dK and dV exchanged; outputs exchanged
# base: right_two_kernels_delta_by_torch

# --- replace
    return dq, dk, dv
# --- with
    return dq, dv, dk
