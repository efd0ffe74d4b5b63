# label: wrong
# title: block size taken from a Python global
# says: The kernel reads the global WIDTH, a plain Python integer. Interpreted that works; compiled, for any
#   input, Triton refuses it (NameError: only tl.constexpr globals may be used). Pass it as a tl.constexpr
#   argument.
# names: crashed

WIDTH = 512

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y):
    offsets = tl.program_id(0).to(tl.int64) * WIDTH + tl.arange(0, WIDTH)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask, other=0.0).to(tl.float32)
    tl.store(z_ptr + offsets, a * x + y, mask=mask)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, WIDTH),)](a, x, y, z, n, x.stride(0), y.stride(0))
    return z
