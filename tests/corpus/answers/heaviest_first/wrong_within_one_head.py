# label: wrong
# title: within one head
# says: `divmod(pid, blocks)` lets a whole head run before the next one begins: heaviest first within a head,
#   not over all heads.
# names: one head after the other

def heaviest_first(pid, blocks, heads):
    head, position = divmod(pid, blocks)
    return blocks - 1 - position, head
