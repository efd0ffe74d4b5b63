# label: wrong
# title: delta lies along the keys.
# says: delta lies along the keys.
# names: delta along the keys
# base: right_two_kernels_delta_by_torch

# --- replace
            ds_t = p_t * (dp_t - delta[None, :])
# --- with
            ds_t = p_t * (dp_t - delta[:, None])
