"""Lesson 05, The GPU's execution model."""
