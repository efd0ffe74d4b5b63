# label: wrong
# title: q.shape[-2] ** -0.5
# says: The default is one over the root of S_q, not of D.
# names: alpha from S
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        alpha = q.shape[-1] ** -0.5
# --- with
        alpha = q.shape[-2] ** -0.5
