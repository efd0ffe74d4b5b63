# label: wrong
# title: (k, 2 * BN), (v, 2 * BN)
# says: The descriptor's block has 64 keys, and the loop's step is 32.
# names: crashed
# base: right_tensor_descriptors_padded_copies_fused_multiply_adds

# --- replace
    described = [TensorDescriptor.from_tensor(t, [1, 1, n, BD]) for t, n in ((q, BM), (k, BN), (v, BN), (o, BM))]
# --- with
    described = [TensorDescriptor.from_tensor(t, [1, 1, n, BD]) for t, n in ((q, BM), (k, 2 * BN), (v, 2 * BN), (o, BM))]
