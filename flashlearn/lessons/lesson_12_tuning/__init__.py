"""Lesson 12, tuning: the same attention, faster, one change at a time."""
