"""Lesson 04, Log-sum-exp and recomputation."""
