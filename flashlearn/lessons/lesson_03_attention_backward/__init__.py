"""Lesson 03, Attention, backward, by hand."""
