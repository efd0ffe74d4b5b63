# label: wrong
# title: the block by the remainder of blocks
# says: number % blocks is the block if a head follows the other; in heaviest_first it is number // heads
# names: one head after the other

def fixed_share(pid, programs, blocks, heads):
    mine = range(pid, blocks * heads, programs)
    return len(mine), sum(blocks - number % blocks for number in mine)
