# label: right
# title: one logarithm of a product, and a quotient of exponentials

def lse_of_a_product(s, m, l):
    lse = sp.log(sp.exp(m) * l)
    return lse, [sp.exp(s_j - m) / l for s_j in s]
