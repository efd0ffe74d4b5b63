"""Lesson 10, The clinic."""
