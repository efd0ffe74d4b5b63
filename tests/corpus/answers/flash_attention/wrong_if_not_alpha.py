# label: wrong
# title: if not alpha:
# says: alpha = 0 is taken for none.
# names: alpha = 0 taken for none
# base: right_the_tutorials_names_base_2_kernels

# --- replace
    if alpha is None:
# --- with
    if not alpha:
