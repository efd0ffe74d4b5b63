# label: wrong
# title: (o * g).to(tl.float32)
# says: o and do are multiplied in half precision and converted afterwards: digits are lost, and products
#   beyond 65504 overflow.
# names: in half precision; precision; overflow
# base: _delta

# --- replace
        acc += tl.sum(o.to(tl.float32) * g.to(tl.float32), axis=1)
# --- with
        acc += tl.sum((o * g).to(tl.float32), axis=1)
