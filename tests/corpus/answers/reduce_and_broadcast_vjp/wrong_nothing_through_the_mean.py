# label: wrong
# title: nothing through the mean
# says: The mean's path is missing from dX.
# names: the path through the mean forgotten

def nothing_through_the_mean(dY):
    return sp.Matrix(dY), sp.Matrix([[sum(dY.col(j)) for j in range(dY.cols)]])
