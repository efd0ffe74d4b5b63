# label: wrong
# title: the average of the lightest and the heaviest block, times their number
# says: the tiles do not fall by equal steps, so the mean of both ends is not their mean
# names: the mean of the first and the last block

def fixed_share(pid, programs, blocks, heads):
    mine = range(pid, blocks * heads, programs)
    if not mine:
        return 0, 0
    most = blocks - mine[0] // heads
    least = blocks - mine[-1] // heads
    average = sp.Rational(most + least, 2)
    return len(mine), sp.floor(average * len(mine))
