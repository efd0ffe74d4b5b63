# label: wrong
# title: causal not saved
# says: lines `to_dq`, `to_dkv`: the backward pass always takes the kernels without a mask
# names: the mask is forgotten on the way back
# base: wrong_three_gradients_for_five_arguments

# --- replace
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
# --- with
from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.kernels.attention import refuse_misfits

# --- replace
        to_dq = dq_kernel_causal if ctx.causal else dq_kernel
        to_dkv = dkv_kernel_causal if ctx.causal else dkv_kernel
# --- with
        to_dq = dq_kernel
        to_dkv = dkv_kernel

# --- replace
        return dq, dk, dv
# --- with
        return dq, dk, dv, None, None  # causal and alpha are no tensors: no gradient
