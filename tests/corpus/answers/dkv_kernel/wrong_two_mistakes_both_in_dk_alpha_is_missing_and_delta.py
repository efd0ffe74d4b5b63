# label: wrong
# title: without dk *= sm_scale / dsT = pT * dpT
# says: Two mistakes, both in dK: alpha is missing, and delta.
# names: alpha is missing from dK + delta omitted
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        dsT = pT * (dpT - Di[None, :])
# --- with
        dsT = pT * dpT

# --- replace
    dk *= sm_scale
# --- with
