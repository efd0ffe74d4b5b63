# label: wrong
# title: V is loaded beside K
# says: V is loaded while K is needed, so both lie in shared memory: only two programs fit
# names: review
# base: right_one_stage_v_last

# --- replace
        v = v_desc.load([b, h_k, start, 0]).reshape(BLOCK_K, BLOCK_D)  # K is read: V may lie where it lay
# --- with


# --- replace
        k = k_desc.load([b, h_k, start, 0]).reshape(BLOCK_K, BLOCK_D)
# --- with
        k = k_desc.load([b, h_k, start, 0]).reshape(BLOCK_K, BLOCK_D)
        v = v_desc.load([b, h_k, start, 0]).reshape(BLOCK_K, BLOCK_D)
