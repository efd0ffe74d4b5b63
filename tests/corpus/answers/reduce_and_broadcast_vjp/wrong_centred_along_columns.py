# label: wrong
# title: centred along columns
# says: The mean was taken along rows, and you took columns.
# names: mean over the wrong axis

def centred_along_columns(dY):
    M = dY.rows
    return (sp.eye(M) - sp.ones(M, M) / M) * dY, sp.ones(1, M) * dY
