# label: wrong
# title: one column, acc = instead of acc +=
# says: The accumulator is replaced in each step: only the last block of rows is left.
# names: the last tile overwrites
# base: right_one_program_per_column

# --- replace
        acc += tl.sum(tl.load(dy_ptr + m * stride_m + n * stride_n, mask=m < M, other=0.0).to(tl.float32))
# --- with
        acc = tl.sum(tl.load(dy_ptr + m * stride_m + n * stride_n, mask=m < M, other=0.0).to(tl.float32))
