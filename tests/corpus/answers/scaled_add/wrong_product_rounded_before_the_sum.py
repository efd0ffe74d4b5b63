# label: wrong
# title: the product is rounded to x's dtype before y is added
# says: a · x is rounded to half precision, and the sum once more; everything has to stay in fp32.
# names: a·x is rounded; one edit; precision
# base: wrong_in_place_in_y

# --- replace
from torch import Tensor


@triton.jit
# --- with
@triton.jit

# --- replace
    # x[i] lies at x_ptr + i * stride_x, y[i] at y_ptr + i * stride_y, z is contiguous
# --- with


# --- replace
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK]
# --- with
    offsets = pid * BLOCK + tl.arange(0, BLOCK)

# --- replace
    # no other=: what padded lanes hold is computed with, but never stored
# --- with


# --- replace
    tl.store(z_ptr + offsets, a * x + y, mask=in_vector)  # reads 2n, writes n elements in all
# --- with
    tl.store(z_ptr + offsets, (a * x).to(x_ptr.dtype.element_ty) + y, mask=in_vector)

# --- replace
    """z = a·x + y: two vectors [n] of any strides → [n] contiguous, in the dtype of x."""
# --- with


# --- replace
    z = y
# --- with
    z = torch.empty(n, dtype=x.dtype, device=x.device)
