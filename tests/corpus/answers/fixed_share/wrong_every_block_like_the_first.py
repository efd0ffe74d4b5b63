# label: wrong
# title: every block counted like the program's first
# says: later blocks of the share are lighter than the first
# names: all blocks like the first

def fixed_share(pid, programs, blocks, heads):
    count = max(0, (blocks * heads - pid + programs - 1) // programs)
    tiles_of_first = blocks - pid // heads
    return count, count * tiles_of_first
