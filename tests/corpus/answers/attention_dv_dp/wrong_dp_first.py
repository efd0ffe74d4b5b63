# label: wrong
# title: dp first
# says: dV and dP are in each other's place.
# names: swapped; outputs exchanged; wrong shape

def dp_first(p, v, do):
    return do * v.T, p.T * do
