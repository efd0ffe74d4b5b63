# label: right
# title: a factor that is 0 or 1 / (1 - p)
# base: _as_taught

# --- replace
    return tl.where(tl.rand(seed, position) >= p, x / (1 - p), 0.0)
# --- with
    keep = (tl.rand(seed, position) >= p).to(tl.float32)
    return x * keep * (1.0 / (1.0 - p))
