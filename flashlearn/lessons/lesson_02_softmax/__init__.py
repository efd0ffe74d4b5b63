"""Lesson 02, Softmax and its Jacobian."""
