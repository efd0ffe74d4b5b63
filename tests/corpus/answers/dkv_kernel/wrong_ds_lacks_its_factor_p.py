# label: wrong
# title: dsT = dpT - Di[None, :]
# says: dS lacks its factor P.
# names: P in front forgotten
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        dsT = pT * (dpT - Di[None, :])
# --- with
        dsT = dpT - Di[None, :]
