# label: wrong
# title: LSE is not brought to base 2 in the kernel that owns keys.
# says: LSE is not brought to base 2 in the kernel that owns keys.
# names: log2 e is missing from LSE
# base: right_two_kernels_delta_by_torch

# --- replace
            lse = tl.where(lse == -float("inf"), float("inf"), lse) * 1.4426950408889634
# --- with
            lse = tl.where(lse == -float("inf"), float("inf"), lse)
