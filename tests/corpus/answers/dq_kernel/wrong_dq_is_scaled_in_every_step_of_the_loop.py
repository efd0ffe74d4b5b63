# label: wrong
# title: dq *= sm_scale in the loop
# says: dq is scaled in every step of the loop.
# names: alpha in every step
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        # Increment pointers.
# --- with
        dq *= sm_scale
        # Increment pointers.

# --- replace
    dq *= sm_scale
# --- with
