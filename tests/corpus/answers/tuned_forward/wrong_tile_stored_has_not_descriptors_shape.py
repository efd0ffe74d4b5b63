# label: wrong
# title: o.to(O.dtype)
# says: The tile that is stored has not the descriptor's shape.
# names: crashed
# base: right_tensor_descriptors_padded_copies_fused_multiply_adds

# --- replace
    O.store([b, h, first, 0], o.to(O.dtype).reshape(1, 1, BM, BD))
# --- with
    O.store([b, h, first, 0], o.to(O.dtype))
