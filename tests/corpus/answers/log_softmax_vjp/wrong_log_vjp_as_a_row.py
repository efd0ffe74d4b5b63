# label: wrong
# title: log vjp as a row
# says: A row came back where a column was asked for.
# names: wrong shape; transposed

def log_vjp_as_a_row(p, dlog):
    return (dlog - p * sum(dlog)).T
