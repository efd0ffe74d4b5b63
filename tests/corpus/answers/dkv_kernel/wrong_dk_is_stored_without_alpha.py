# label: wrong
# title: no dk *= sm_scale
# says: dK is stored without alpha.
# names: alpha is missing from dK
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
    dk *= sm_scale
# --- with
