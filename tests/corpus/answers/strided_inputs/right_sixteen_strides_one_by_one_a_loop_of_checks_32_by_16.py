# label: right
# title: sixteen strides one by one, a loop of checks, 32 × 16
# uses: flash_forward/right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed._fwd_tutorial_kernel;
#   flash_forward/right_tiles_transposed_k_qt_reductions_over_axis_0_16_by.keys_as_rows

# INCLUDE: _check_args


def strided_inputs(q, k, v, alpha=None):
    check_args(q, k, v)
    Z, H, N_Q, D = q.shape
    scale = D**-0.5 if alpha is None else alpha
    o = torch.empty((Z, H, N_Q, D), device=q.device, dtype=q.dtype)
    lse = torch.empty((Z, H, N_Q), device=q.device, dtype=torch.float32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    _fwd_tutorial_kernel[(Z * H, triton.cdiv(N_Q, 32))](
        q, k, v, scale, lse, o,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        o.stride(0), o.stride(1), o.stride(2), o.stride(3),
        H, N_Q, k.shape[2], D, BLOCK_M=32, BLOCK_N=16, BLOCK_DMODEL=BLOCK_D,
    )
    return o, lse
