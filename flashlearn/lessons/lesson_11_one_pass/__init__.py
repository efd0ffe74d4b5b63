"""Lesson 11, one pass instead of two."""
