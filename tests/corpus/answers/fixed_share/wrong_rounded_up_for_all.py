# label: wrong
# title: the number of blocks divided and rounded up
# says: in the last turn there may be fewer blocks than programs
# names: as many for all

def fixed_share(pid, programs, blocks, heads):
    taken = -(-blocks * heads // programs)
    return taken, sum(blocks - (pid + turn * programs) // heads for turn in range(taken))
