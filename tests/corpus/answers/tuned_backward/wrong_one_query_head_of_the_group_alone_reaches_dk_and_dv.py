# label: wrong
# title: One query head of the group alone reaches dK and dV.
# says: One query head of the group alone reaches dK and dV.
# names: one head of the group
# base: right_two_kernels_delta_by_torch

# --- replace
    for g in range(0, H // H_k):
# --- with
    for g in range(H // H_k - 1, H // H_k):
