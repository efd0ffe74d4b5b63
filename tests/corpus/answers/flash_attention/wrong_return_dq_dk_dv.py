# label: wrong
# title: return dq, dk, dv
# says: backward returns three values for five arguments.
# names: crashed
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        return dq, dk, dv, None, None
# --- with
        return dq, dk, dv
