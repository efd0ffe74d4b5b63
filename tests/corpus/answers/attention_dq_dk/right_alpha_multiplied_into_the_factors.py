# label: right
# title: alpha multiplied into the factors

def dq_dk_with_scaled_factors(q, k, ds, alpha):
    return ds * (alpha * k), ((alpha * q).T * ds).T
