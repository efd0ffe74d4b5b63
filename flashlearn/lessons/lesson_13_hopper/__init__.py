"""Lesson 13: Hopper and FlashAttention-3."""
