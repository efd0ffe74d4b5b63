# label: wrong
# title: dq = dq_tutorial(*given)
# says: dQ is those of unmasked attention; dK and dV are right.
# names: the mask is forgotten on the way back; the mask is forgotten in dQ
# base: right_the_tutorials_names_base_2_kernels

# --- replace
            dq = dq_tutorial_causal(*given)
# --- with
            dq = dq_tutorial(*given)
