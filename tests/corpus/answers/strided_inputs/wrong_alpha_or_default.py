# label: wrong
# title: alpha or default
# says: line `alpha = alpha or …`: alpha 0.0 is taken for not given
# names: alpha = 0 taken for none
# base: _course_solution_without_markers

# --- replace
    if alpha is None:
        alpha = 1 / math.sqrt(D)
    # not empty_like(q): that keeps the strides of a dense view, and o is promised to be contiguous
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
# --- with
    alpha = alpha or 1 / math.sqrt(D)
  
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
