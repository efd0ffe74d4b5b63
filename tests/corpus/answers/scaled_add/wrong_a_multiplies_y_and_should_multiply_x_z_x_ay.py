# label: wrong
# title: xv + alpha * yv
# says: a multiplies y, and should multiply x: z = x + a·y.
# names: a scales y
# base: _saxpy

# --- replace
        tl.store(zs + idx, alpha * xv + yv, mask=ok)
# --- with
        tl.store(zs + idx, xv + alpha * yv, mask=ok)
