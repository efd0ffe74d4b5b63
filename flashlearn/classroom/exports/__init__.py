"""Exports of results, with a writer for each platform that takes them."""
