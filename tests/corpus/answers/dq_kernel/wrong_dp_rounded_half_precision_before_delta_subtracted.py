# label: wrong
# title: dp = tl.dot(do, vT, input_precision="ieee").to(kT.dtype)
# says: dP is rounded to half precision before delta is subtracted.
# names: dP rounded before delta is subtracted
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        dp = tl.dot(do, vT, input_precision="ieee").to(tl.float32)
# --- with
        dp = tl.dot(do, vT, input_precision="ieee").to(kT.dtype)
