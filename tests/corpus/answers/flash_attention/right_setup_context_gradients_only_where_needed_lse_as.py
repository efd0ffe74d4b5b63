# label: right
# title: setup_context, gradients only where needed, LSE as a second output that has none
# uses: flash_forward/right_tiles_transposed_k_qt_reductions_over_axis_0_16_by.keys_as_rows;
#   flash_forward_causal/right_early_return_where_block_sees_nothing_heads_first_in.early_return;
#   dq_kernel/right_delta_inside_kernel_fp32_throughout_tiles_64_from.dq_delta_inside;
#   dq_kernel_causal/right_delta_inside_kernel_if_in_loop_instead_end_backwards.dq_causal_with_an_if;
#   dkv_kernel/right_queries_from_last_first_delta_in_loop_alpha_in_ds_64.dkv_backwards;
#   dkv_kernel_causal/right_queries_from_last_first_hidden_one_in_while_loop_no.dkv_causal_backwards

class Attention(torch.autograd.Function):
    # forward without ctx; setup_context keeps what is needed; gradients only where they are asked for
    @staticmethod
    def forward(q, k, v, causal, alpha):
        return (early_return if causal else keys_as_rows)(q, k, v, alpha)

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, ctx.causal, ctx.alpha = inputs
        ctx.save_for_backward(q, k, v, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, do, _):
        q, k, v, o, lse = ctx.saved_tensors
        more = (o, do.contiguous(), lse, ctx.alpha)
        dq = dk = dv = None
        if ctx.needs_input_grad[0]:
            dq = (dq_causal_with_an_if if ctx.causal else dq_delta_inside)(q, k, v, *more)
        if any(ctx.needs_input_grad[1:3]):
            dk, dv = (dkv_causal_backwards if ctx.causal else dkv_backwards)(q, k, v, *more)
        return dq, dk, dv, None, None


def flash_attention(q, k, v, causal=False, alpha=None):
    return Attention.apply(q, k, v, causal, 1 / math.sqrt(q.size(-1)) if alpha is None else alpha)[0]
