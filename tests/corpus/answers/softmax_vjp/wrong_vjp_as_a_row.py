# label: wrong
# title: vjp as a row
# says: A row came back where a column was asked for.
# names: wrong shape; transposed

def vjp_as_a_row(p, dp):
    return (p.multiply_elementwise(dp) - p.dot(dp) * p).T
