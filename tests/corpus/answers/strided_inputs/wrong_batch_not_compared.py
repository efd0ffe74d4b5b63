# label: wrong
# title: batch not compared
# says: `if t.shape[1:] != (H, k.shape[2], D)` leaves the batch axis out (as if it broadcast): k or v of
#   another B is accepted and read beyond its end or half ignored.
# names: review
# base: wrong_one_stride_for_k_and_v

# --- replace
    B, H, _, D = q.shape
    for name, t in (("k", k), ("v", v)):
        if t.shape != (B, H, k.shape[2], D):
            raise ValueError(f"{name} has shape {tuple(t.shape)}: expected {(B, H, k.shape[2], D)}")
# --- with
    _, H, _, D = q.shape
    for name, t in (("k", k), ("v", v)):
        if t.shape[1:] != (H, k.shape[2], D):
            raise ValueError(f"{name} has shape {tuple(t.shape)}: it must have {H} heads of width {D}, q is {tuple(q.shape)}")

# --- replace
    kv_strides = k.stride()  # k and v have one shape
# --- with

# --- replace
        *q.stride(), *kv_strides, *kv_strides, *o.stride(),
# --- with
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
