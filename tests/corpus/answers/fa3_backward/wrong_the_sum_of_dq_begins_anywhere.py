# label: wrong
# title: The sum of dQ begins anywhere.
# says: The sum of dQ begins anywhere.
# names: uninitialised memory; one edit
# base: _course_solution

# --- replace
    dq_sum = torch.zeros((B, H, padded, D), dtype=torch.float32, device=q.device)  # a sum begins at 0
# --- with
    dq_sum = torch.empty((B, H, padded, D), dtype=torch.float32, device=q.device)  # a sum begins at 0
