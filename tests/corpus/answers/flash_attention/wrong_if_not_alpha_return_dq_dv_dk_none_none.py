# label: wrong
# title: if not alpha: / return dq, dv, dk, None, None
# says: Two mistakes: alpha = 0 is taken for none, and dK and dV come back exchanged.
# names: alpha = 0 taken for none + dk and dv exchanged; alpha = 0 taken for none + outputs exchanged
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        return dq, dk, dv, None, None
# --- with
        return dq, dv, dk, None, None

# --- replace
    if alpha is None:
# --- with
    if not alpha:
