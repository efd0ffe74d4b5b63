"""Lesson 00, Tour."""
