# label: wrong
# title: return dq, dk, None, None, None
# says: dV is not computed at all: None for v.
# names: shape
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        return dq, dk, dv, None, None
# --- with
        return dq, dk, None, None, None
