"""Lesson 07, dQ."""
