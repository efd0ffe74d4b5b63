"""Lesson 06, FlashAttention forward."""
