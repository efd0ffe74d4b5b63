# label: wrong
# title: dq = torch.empty((B, H, S_q, D)
# says: The buffer that programs add to is not zero in the beginning.
# names: uninitialised memory; one edit
# base: _course_solution

# --- replace
    dq = torch.zeros((B, H, S_q, D), dtype=torch.float32, device=q.device)  # a sum begins at 0
# --- with
    dq = torch.empty((B, H, S_q, D), dtype=torch.float32, device=q.device)  # a sum begins at 0
