"""Gibbs sampling: each move a pure function of its own, a sweep their composition."""
