# label: wrong
# title: alpha or
# says: line alpha = alpha or ...: an alpha of 0.0 counts as not given
# names: alpha = 0 taken for none
# base: _course_solution_without_markers

# --- replace
from flashlearn.kernels.flash_forward import flash_forward_kernel
# --- with
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel

# --- replace
    if alpha is None:
        alpha = 1 / math.sqrt(D)
    # not empty_like(q): that keeps the strides of a dense view, and o is promised to be contiguous
# --- with
    alpha = alpha or D**-0.5
