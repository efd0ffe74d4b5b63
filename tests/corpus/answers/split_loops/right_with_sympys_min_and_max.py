# label: right
# title: with sympy's Min and Max

def by_sympy(first, block_q, block_k, S_q, S_k):
    def seen(query):
        return sp.Max(0, sp.Min(S_k, query + 1 + S_k - S_q))

    return sp.floor(seen(first) / block_k) * block_k, seen(first + block_q - 1)
