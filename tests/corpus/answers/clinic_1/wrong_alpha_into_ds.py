# label: wrong
# title: alpha into ds
# says: alpha is put into `ds = alpha * p * (dp - delta_i[:, None])`: dK is right then, and dQ, which had its
#   own alpha, has it twice
# names: alpha put into dS
# base: _clinic_1_kernel

# --- replace
):  # fmt: skip
# --- with
):

# --- replace
        ds = p * (dp - delta_i[:, None])
# --- with
        ds = alpha * p * (dp - delta_i[:, None])
