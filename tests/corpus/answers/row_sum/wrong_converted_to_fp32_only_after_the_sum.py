# label: wrong
# title: converted to fp32 only after the sum
# says: `tl.sum(v, axis=0).to(tl.float32)` converts too late: tl.sum adds in the type it is given, so an fp16
#   or bf16 row is added in half precision. Convert `v` before the sum (a row of 4096 ones in fp16 or 1000 in
#   bf16 shows it).
# names: summed in half precision

@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    ok = j < columns
    v = tl.load(x_ptr + i * stride_row + j * stride_column, mask=ok, other=0)
    total = tl.sum(v, axis=0).to(tl.float32)  # fp32 sum
    tl.store(s_ptr + i, total)

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
