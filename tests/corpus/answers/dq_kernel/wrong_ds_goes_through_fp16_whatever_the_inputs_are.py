# label: wrong
# title: ds = ds.to(tl.float16).to(kT.dtype)
# says: dS goes through fp16 whatever the inputs are.
# names: precision; dS cast to fp16; one edit
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        ds = ds.to(kT.dtype)
# --- with
        ds = ds.to(tl.float16).to(kT.dtype)
