# label: wrong
# title: dq dk alpha in one
# says: alpha is in dQ only.
# names: alpha forgotten in dK

def dq_dk_alpha_in_one(q, k, ds, alpha):
    ds_scaled = alpha * ds
    return ds_scaled * k, ds.T * q
