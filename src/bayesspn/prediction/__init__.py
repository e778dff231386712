"""Exact answers of all draws at once, on encoded values."""
