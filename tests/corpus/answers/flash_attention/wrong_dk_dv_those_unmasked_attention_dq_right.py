# label: wrong
# title: dk, dv = dkdv_tutorial(*given)
# says: dK and dV are those of unmasked attention; dQ is right.
# names: the mask is forgotten on the way back; the mask is forgotten in dK and dV
# base: right_the_tutorials_names_base_2_kernels

# --- replace
            dk, dv = dkdv_tutorial_causal(*given)
# --- with
            dk, dv = dkdv_tutorial(*given)
