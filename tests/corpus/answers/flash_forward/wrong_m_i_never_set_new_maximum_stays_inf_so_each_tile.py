# label: wrong
# title: unseen: m_i is not carried on
# says: m_i is never set to the new maximum: it stays -inf, so each tile wipes out what came before it, and
#   the LSE is -inf.
# names: m is never updated; only the last tile
# launcher: flash_forward
# base: _tutorial_blocks

# --- replace
        m_i = m_ij
# --- with
