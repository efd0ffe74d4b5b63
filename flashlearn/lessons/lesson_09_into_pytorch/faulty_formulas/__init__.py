"""Lesson 09's launchers in torch, with faults by name: what its declared mistakes compute."""
