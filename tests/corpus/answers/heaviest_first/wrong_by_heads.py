# label: wrong
# title: by heads
# says: The heads come one after the other.
# names: one head after the other

def by_heads(pid, blocks, heads):
    return blocks - 1 - pid % blocks, pid // blocks
