# label: wrong
# title: empty like and asserts
# says: two: o = torch.empty_like(q) keeps the strides of a transposed q, although o must be contiguous; and
#   the shapes are refused by assert, an AssertionError in place of ValueError
# names: review
# base: _course_solution_without_markers

# --- replace
from flashlearn.kernels.flash_forward import flash_forward_kernel
# --- with
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel

# --- replace
        if tuple(t.shape) != expected:
            raise ValueError(
                f"{name} has shape {tuple(t.shape)}, expected {expected}: only S may differ from q's"
            )
# --- with
        assert tuple(t.shape) == expected, f"{name} has shape {tuple(t.shape)}, expected {expected}"

# --- replace
    # not empty_like(q): that keeps the strides of a dense view, and o is promised to be contiguous
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
# --- with
    o = torch.empty_like(q)
