# label: wrong
# title: heads outside
# says: lines pid // blocks and pid % blocks: all blocks of head 0 come first, in place of the last block of
#   every head
# names: one head after the other

def heaviest_first(pid, blocks, heads):
    head, rank = divmod(pid, blocks)
    return blocks - 1 - rank, head
