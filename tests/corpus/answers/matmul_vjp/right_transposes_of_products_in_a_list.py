# label: right
# title: transposes of products, in a list

def vjp_transposed_twice(X, W, dY):
    return [(W * dY.T).T, (dY.T * X).T]
