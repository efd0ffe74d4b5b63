# label: wrong
# title: unseen: V's block pointer stays
# says: V's block pointer is never advanced: every tile of P meets the first tile of V.
# names: V's pointer is not advanced
# launcher: flash_forward
# base: _tutorial_blocks

# --- replace
        V_block_ptr = tl.advance(V_block_ptr, (BLOCK_N, 0))
# --- with
