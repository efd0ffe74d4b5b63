# label: wrong
# title: one tile fewer with each turn
# says: the block is found from the turn, as if programs were heads
# names: a tile fewer in each turn

def fixed_share(pid, programs, blocks, heads):
    turns = len(range(pid, blocks * heads, programs))
    return turns, sum(blocks - turn for turn in range(turns))
