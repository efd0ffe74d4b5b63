# label: wrong
# title: unseen: dv first, and no alpha
# says: Two mistakes: dV and dK are returned in the wrong order, and dK lacks alpha.
# names: dK and dV exchanged + alpha is missing from dK; dK and dV exchanged; alpha is missing from dK;
#   outputs exchanged
# base: _dkv_by_the_notebook

# --- replace
    gk = gk * alpha
# --- with

# --- replace
    return dk, dv
# --- with
    return dv, dk
