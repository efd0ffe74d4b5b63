# label: wrong
# title: sum in half
# says: launcher line dq = torch.zeros(..., dtype=q.dtype): the shares of dQ are added in the dtype of q, so
#   half-precision inputs round at each atomic
# names: summed in half precision
# base: wrong_share_without_alpha

# --- replace
        share = tl.dot(ds, k, input_precision="ieee")
        dq_tile = qi[:, None] * D + d[None, :]
        tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
# --- with
        share = alpha * tl.dot(ds, k, input_precision="ieee")
        dq_tile = qi[:, None] * D + d[None, :]
        tl.atomic_add(dq_ptr + dq_tile, share.to(dq_ptr.dtype.element_ty), mask=in_tile, sem="relaxed")

# --- replace
    dq = torch.zeros((B, H, S_q, D), dtype=torch.float32, device=q.device)
# --- with
    dq = torch.zeros((B, H, S_q, D), dtype=q.dtype, device=q.device)

# --- replace
    return dq.to(q.dtype), dk, dv
# --- with
    return dq, dk, dv
