# label: wrong
# title: delta of the first block's rows
# says: delta is read for the rows 0 … BLOCK_M − 1 in every program.
# names: delta of other rows
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    Di = tl.load(Delta + hz * M + offs_m, mask=offs_m < M, other=0.0)
# --- with
    Di = tl.load(Delta + hz * M + tl.arange(0, BLOCK_M), mask=tl.arange(0, BLOCK_M) < M, other=0.0)
