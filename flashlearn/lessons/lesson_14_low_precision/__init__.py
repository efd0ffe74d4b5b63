"""Lesson 14: low precision."""
