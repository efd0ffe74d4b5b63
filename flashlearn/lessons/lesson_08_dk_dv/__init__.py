"""Lesson 08, dK and dV."""
