# label: wrong
# title: ds = p * dp - Di[:, None]
# says: P multiplies dP alone; delta is subtracted at full weight.
# names: delta subtracted after P
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        ds = p * (dp - Di[:, None])
# --- with
        ds = p * dp - Di[:, None]
