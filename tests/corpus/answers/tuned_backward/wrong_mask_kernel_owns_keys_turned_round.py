# label: wrong
# title: The mask of the kernel that owns keys is turned round.
# says: The mask of the kernel that owns keys is turned round.
# names: leak from the future; one edit
# base: right_two_kernels_delta_by_torch

# --- replace
                    seen = columns[:, None] <= rows[None, :] + S_k - S_q
# --- with
                    seen = columns[:, None] >= rows[None, :] + S_k - S_q
