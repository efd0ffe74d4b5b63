# label: wrong
# title: p minus what arrives
# says: that is p − onehot, with dlog as the one-hot: the sign is that of a loss, and Σ dlog is missing
# names: one class and the sign

def log_softmax_vjp(p, dlog):
    return p - dlog
