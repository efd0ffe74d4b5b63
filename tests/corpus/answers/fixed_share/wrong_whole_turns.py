# label: wrong
# title: the number of blocks divided and rounded down
# says: blocks that are left after the last whole turn are nobody's
# names: only whole turns

def fixed_share(pid, programs, blocks, heads):
    taken = blocks * heads // programs
    return taken, sum(blocks - (pid + turn * programs) // heads for turn in range(taken))
