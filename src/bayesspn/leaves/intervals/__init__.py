"""Probabilities and moments of intervals under the leaf families, accurate in their tails."""
