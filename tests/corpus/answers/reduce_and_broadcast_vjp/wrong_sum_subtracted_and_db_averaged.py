# label: wrong
# title: sum subtracted and db averaged
# says: The 1/N is missing in dX, and db is a mean: two mistakes.
# names: 1/N forgotten + db averaged

def sum_subtracted_and_db_averaged(dY):
    N = dY.cols
    return dY * (sp.eye(N) - sp.ones(N, N)), sp.ones(1, dY.rows) * dY / dY.rows
