# label: right
# title: a list, entry by entry

def log_vjp_as_a_list(p, dlog):
    total = sum(dlog)
    return [d - q * total for d, q in zip(dlog, p, strict=True)]
