# label: wrong
# title: o = torch.empty_like(q) / H * N_Q * D, N_Q * D, D, 1
# says: O is allocated like q, with q's layout, and written as if it were contiguous.
# names: o written with q's strides; out_of_bounds; o's layout
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    o = torch.empty((Z, H, N_Q, D), device=q.device, dtype=q.dtype)
# --- with
    o = torch.empty_like(q)

# --- replace
        o.stride(0), o.stride(1), o.stride(2), o.stride(3),
# --- with
        H * N_Q * D, N_Q * D, D, 1,
