# part: a text that answers change
# base: flash_forward_causal/_tutorial_blocks
