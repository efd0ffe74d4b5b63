# label: wrong
# title: atomics onto a buffer kept from call to call
# says: The buffer is kept for the next call of the same width and never set to zero again: results add up.
# names: stale answer; changes from run to run
# base: right_one_tile_per_program_atomic_adds_in_fp32

# --- replace
def bias_gradient(dy):
# --- with
buffers = {}


def bias_gradient(dy):

# --- replace
    out = torch.zeros(cols, dtype=torch.float32)
# --- with
    out = buffers.setdefault(cols, torch.zeros(cols, dtype=torch.float32))
