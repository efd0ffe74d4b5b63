# label: right
# title: autotuned, on contiguous copies

@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit
def saxpy_kernel(z, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    result = tl.load(x + i, m).to(tl.float32) * a + tl.load(y + i, m).to(tl.float32)
    tl.store(z + i, result, m)


def scaled_add(a, x, y):
    x, y = x.contiguous(), y.contiguous()
    z = torch.empty_like(x)
    n = x.numel()
    saxpy_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](z, x, y, a, n)
    return z
