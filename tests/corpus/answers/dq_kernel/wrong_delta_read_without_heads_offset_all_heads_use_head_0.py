# label: wrong
# title: tl.load(Delta + offs_m
# says: delta is read without the head's offset: all heads use that of head 0.
# names: delta of the first head; permuted heads; some heads
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    Di = tl.load(Delta + hz * M + offs_m, mask=offs_m < M, other=0.0)
# --- with
    Di = tl.load(Delta + offs_m, mask=offs_m < M, other=0.0)
