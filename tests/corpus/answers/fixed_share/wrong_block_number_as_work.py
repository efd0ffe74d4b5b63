# label: wrong
# title: the block's number taken for its tiles
# says: block n visits n + 1 tiles, not n
# names: without the tile on the diagonal; one edit

def fixed_share(pid, programs, blocks, heads):
    mine = range(pid, blocks * heads, programs)
    return len(mine), sum(blocks - 1 - number // heads for number in mine)
