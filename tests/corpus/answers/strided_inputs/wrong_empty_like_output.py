# label: wrong
# title: empty like output
# says: line `o = torch.empty_like(q)`: O keeps the strides of q where q is a dense view, so it is not
#   contiguous
# names: review
# base: _course_solution_without_markers

# --- replace
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
# --- with
    o = torch.empty_like(q)
