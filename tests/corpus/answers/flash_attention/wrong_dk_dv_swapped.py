# label: wrong
# title: dk dv swapped
# says: line `return`: dV and dK are returned in the wrong order
# names: dk and dv exchanged
# base: wrong_three_gradients_for_five_arguments

# --- replace
from flashlearn.kernels.attention import refuse_misfits
# --- with

# --- replace
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
# --- with
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.kernels.attention import refuse_misfits

# --- replace
        ctx.save_for_backward(q, k, v, o, lse)  # tensors; autograd frees them when the graph goes
        ctx.causal, ctx.alpha = causal, alpha  # everything else
# --- with
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal, ctx.alpha = causal, alpha

# --- replace
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
# --- with
    @once_differentiable

# --- replace
        return dq, dk, dv
# --- with
        return dq, dv, dk, None, None

# --- replace
    if alpha is None:  # not `alpha or …`: 0.0 is a number like any other
# --- with
    if alpha is None:
