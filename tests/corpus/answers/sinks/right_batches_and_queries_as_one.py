# label: right
# title: batches and queries counted as one
# base: _as_taught

# --- replace
    for b in range(B):
        for start in range(0, S, BLOCK):
            rows = start + tl.arange(0, BLOCK)
            at = (b * H + h) * S + rows
            lse = tl.load(lse_ptr + at, mask=rows < S, other=float("inf"))
            delta = tl.load(delta_ptr + at, mask=rows < S, other=0.0)
            total += tl.exp(logit - lse) * delta
# --- with
    for start in range(0, B * S, BLOCK):
        n = start + tl.arange(0, BLOCK)
        at = (n // S * H + h) * S + n % S
        lse = tl.load(lse_ptr + at, mask=n < B * S, other=0.0)
        delta = tl.load(delta_ptr + at, mask=n < B * S, other=0.0)
        total += tl.where(n < B * S, tl.exp(logit - lse) * delta, 0.0)
