"""Lesson 04, Logsumexp and recomputation."""
