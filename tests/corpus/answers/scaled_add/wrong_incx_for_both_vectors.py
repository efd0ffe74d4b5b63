# label: wrong
# title: incx for both vectors
# says: y is read with the stride of x.
# names: out_of_bounds
# base: _saxpy

# --- replace
        yv = tl.load(ys + idx * incy, mask=ok, other=0.0).to(tl.float32)
# --- with
        yv = tl.load(ys + idx * incx, mask=ok, other=0.0).to(tl.float32)
