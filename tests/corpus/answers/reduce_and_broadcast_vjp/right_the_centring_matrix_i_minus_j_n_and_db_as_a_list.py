# label: right
# title: the centring matrix I − J/N, and db as a list

def centred_by_a_matrix(dY):
    N = dY.cols
    return dY * (sp.eye(N) - sp.ones(N, N) / N), [sum(dY[:, j]) for j in range(N)]
