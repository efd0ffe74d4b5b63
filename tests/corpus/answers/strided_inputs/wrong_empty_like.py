# label: wrong
# title: empty like
# says: `o = torch.empty_like(q)` keeps the strides of a dense view of q, so O is not contiguous as promised.
# names: review
# base: _course_solution_without_markers

# --- replace
from flashlearn.kernels.flash_forward import flash_forward_kernel
# --- with
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel

# --- replace
    # not empty_like(q): that keeps the strides of a dense view, and o is promised to be contiguous
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
# --- with
    o = torch.empty_like(q)
