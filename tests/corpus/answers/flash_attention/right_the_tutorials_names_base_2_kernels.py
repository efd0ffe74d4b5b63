# label: right
# title: the tutorial's names, base-2 kernels
# uses: flash_forward/right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed.fwd_tutorial;
#   flash_forward_causal/right_loop_split_into_tiles_without_mask_tiles_on_diagonal.split_loops;
#   dq_kernel/right_tutorials_kernel_k_v_loaded_transposed_preprocess.dq_tutorial;
#   dq_kernel_causal/right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base.dq_tutorial_causal;
#   dkv_kernel/right_tutorials_kernel_everything_transposed_pt_dst_base_2.dkdv_tutorial;
#   dkv_kernel_causal/right_tutorials_kernel_mask_loop_start_shifted_by_n_kv.dkdv_tutorial_causal

class _attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, is_causal, softmax_scale):
        kernel = split_loops if is_causal else fwd_tutorial
        out, lse = kernel(q, k, v, softmax_scale)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.is_causal = is_causal
        ctx.softmax_scale = softmax_scale
        return out

    @staticmethod
    def backward(ctx, dout):
        q, k, v, out, lse = ctx.saved_tensors
        given = (q, k, v, out, dout, lse, ctx.softmax_scale)
        if ctx.is_causal:
            dq = dq_tutorial_causal(*given)
            dk, dv = dkdv_tutorial_causal(*given)
        else:
            dq = dq_tutorial(*given)
            dk, dv = dkdv_tutorial(*given)
        return dq, dk, dv, None, None


def flash_attention(q, k, v, causal=False, alpha=None):
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
    return _attention.apply(q, k, v, causal, alpha)
