# label: right
# title: hands everything to the launcher of lesson 06
# uses: flash_forward/right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed._fwd_tutorial_kernel;
#   flash_forward/right_tiles_transposed_k_qt_reductions_over_axis_0_16_by.keys_as_rows

# INCLUDE: _check_args


def strided_inputs(q, k, v, alpha=None):
    check_args(q, k, v)
    Z, H, N_Q, D = q.shape
    scale = D**-0.5 if alpha is None else alpha
    o, lse = keys_as_rows(q, k, v, scale)
    return o, lse
