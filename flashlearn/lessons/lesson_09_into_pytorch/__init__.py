"""Lesson 09, Into PyTorch."""
