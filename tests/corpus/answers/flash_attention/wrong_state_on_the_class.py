# label: wrong
# title: state on the class
# says: lines FlashAttention.saved = ...: tensors are kept on the class and not in ctx, so a second forward
#   call before the first backward overwrites them
# names: kept on the class
# base: wrong_three_gradients_for_five_arguments

# --- replace
        ctx.save_for_backward(q, k, v, o, lse)  # tensors; autograd frees them when the graph goes
        ctx.causal, ctx.alpha = causal, alpha  # everything else
# --- with
        FlashAttention.saved = (q, k, v, o, lse)
        ctx.causal, ctx.alpha = causal, alpha

# --- replace
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = ctx.saved_tensors
# --- with
    @once_differentiable
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = FlashAttention.saved

# --- replace
        return dq, dk, dv
# --- with
        return dq, dk, dv, None, None

# --- replace
    if alpha is None:  # not `alpha or …`: 0.0 is a number like any other
# --- with
    if alpha is None:
