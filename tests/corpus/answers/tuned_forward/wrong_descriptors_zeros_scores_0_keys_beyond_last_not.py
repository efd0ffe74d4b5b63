# label: wrong
# title: (j0 + cols >= 0)[None, :]
# says: A descriptor's zeros are scores of 0: the keys beyond the last are not masked.
# names: padded keys are not masked; one edit; review
# base: right_tensor_descriptors_padded_copies_fused_multiply_adds

# --- replace
        seen = (j0 + cols < N)[None, :]
# --- with
        seen = (j0 + cols >= 0)[None, :]
