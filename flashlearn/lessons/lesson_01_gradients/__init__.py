"""Lesson 01, Gradients of matrix expressions."""
