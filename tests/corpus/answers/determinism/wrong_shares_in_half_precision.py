# label: wrong
# title: the shares are stored in half precision
# says: Every share is rounded before it is added; the sums are to be fp32.
# names: one edit; precision
# base: _course_solution_without_markers

# --- replace
    # reads what fused_keys_kernel reads; writes S_q · D numbers of fp32 that nobody else writes
# --- with


# --- replace
    # shares are [B, H, blocks of keys, S_q, D]: this program's part, and in it a row is D long
# --- with


# --- replace
    # reads the shares of BLOCK_Q rows of dQ, in the order of their keys; writes the rows once
# --- with


# --- replace
    if IS_CAUSAL:  # blocks of keys that no query of this block sees have stored nothing here
# --- with
    if IS_CAUSAL:

# --- replace
        shares_ptr += S_q * D  # step by step: block · S_q · D may pass 2³¹
# --- with
        shares_ptr += S_q * D

# --- replace
    """dQ, dK, dV, each in its input's dtype, bit for bit the same whatever order the programs run in."""
# --- with


# --- replace
    shares = torch.empty((B, H, blocks, S_q, D), dtype=torch.float32, device=q.device)
# --- with
    shares = torch.empty((B, H, blocks, S_q, D), dtype=q.dtype, device=q.device)

# --- replace
    # on one stream a launch waits for the one before: every share is there when the sum begins
# --- with
