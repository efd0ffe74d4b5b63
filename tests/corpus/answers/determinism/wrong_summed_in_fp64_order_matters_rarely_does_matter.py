# label: wrong
# title: (B, H, S_q, D), dtype=torch.float64 / tl.atomic_add(dq_ptr + dq_tile, share.to(tl.float64),
# says: Summed in fp64 the order matters more rarely, and it does matter.
# names: review
# base: wrong_fused_backward_atomic

# --- replace
        tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
# --- with
        tl.atomic_add(dq_ptr + dq_tile, share.to(tl.float64), mask=in_tile, sem="relaxed")

# --- replace
    dq = torch.zeros((B, H, S_q, D), dtype=torch.float32, device=q.device)  # a sum begins at 0
# --- with
    dq = torch.zeros((B, H, S_q, D), dtype=torch.float64, device=q.device)  # a sum begins at 0
