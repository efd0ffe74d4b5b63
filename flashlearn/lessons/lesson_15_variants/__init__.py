"""Lesson 15: variants of attention as hooks of one pair of kernels."""
