# label: wrong
# title: tanh from a sigmoid without the 2 in its argument
# says: tanh(y) is 2 σ(2 y) − 1. Here it is 2 σ(y) − 1, which is tanh(y / 2), in the score and in the gradient.
# names: half the argument of tanh
# base: right_by_libdevice

# --- replace
@triton.jit
def capped(x, b, h, i, j, S_q, S_k, extras):
    return extras[0] * libdevice.tanh(x / extras[0])
# --- with
@triton.jit
def squashed(y):
    return 2.0 / (1.0 + tl.exp(-y)) - 1.0


@triton.jit
def capped(x, b, h, i, j, S_q, S_k, extras):
    return extras[0] * squashed(x / extras[0])
# --- replace
    t = libdevice.tanh(x / extras[0])
# --- with
    t = squashed(x / extras[0])
