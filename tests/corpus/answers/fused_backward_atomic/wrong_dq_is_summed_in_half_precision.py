# label: wrong
# title: (B, H, S_q, D), dtype=q.dtype
# says: dQ is summed in half precision.
# names: summed in half precision; precision
# base: _course_solution

# --- replace
    dq = torch.zeros((B, H, S_q, D), dtype=torch.float32, device=q.device)  # a sum begins at 0
# --- with
    dq = torch.zeros((B, H, S_q, D), dtype=q.dtype, device=q.device)  # a sum begins at 0
