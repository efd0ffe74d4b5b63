# label: wrong
# title: delta is forgotten in both.
# says: delta is forgotten in both.
# names: delta omitted
# base: right_two_kernels_delta_by_torch

# --- replace
            ds_t = p_t * (dp_t - delta[None, :])
# --- with
            ds_t = p_t * dp_t

# --- replace
        ds = p * (dp - delta[:, None])
# --- with
        ds = p * dp
