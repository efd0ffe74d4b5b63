# label: right
# title: no conversion: a is an fp32 number, so a * x is fp32
# base: _add

# --- replace
    x = tl.load(x_ptr + offsets * stride_x, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask).to(tl.float32)
# --- with
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask)
