# label: wrong
# title: The mask is aligned top-left in dQ.
# says: The mask is aligned top-left in dQ.
# names: mask aligned top-left; one edit
# base: right_two_kernels_delta_by_torch

# --- replace
                x = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, x * c, -float("inf"))
# --- with
                x = tl.where(columns[None, :] <= rows[:, None], x * c, -float("inf"))
