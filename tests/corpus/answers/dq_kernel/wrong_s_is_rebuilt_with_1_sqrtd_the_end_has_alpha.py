# label: wrong
# title: .to(tl.float32) / tl.sqrt(D.to(tl.float32))
# says: S is rebuilt with 1/√D; the end has alpha.
# names: alpha's sign is lost
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
    qi = tl.load(q + at, mask=ok, other=0.0).to(tl.float32) * a
# --- with
    qi = tl.load(q + at, mask=ok, other=0.0).to(tl.float32) / tl.sqrt(D.to(tl.float32))
