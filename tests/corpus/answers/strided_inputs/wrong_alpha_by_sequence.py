# label: wrong
# title: alpha by sequence
# says: line `alpha =`: 1/√S_k instead of 1/√D
# names: alpha from S
# base: _course_solution_without_markers

# --- replace
        alpha = 1 / math.sqrt(D)
    # not empty_like(q): that keeps the strides of a dense view, and o is promised to be contiguous
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
# --- with
        alpha = 1 / math.sqrt(S_k)
  
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
