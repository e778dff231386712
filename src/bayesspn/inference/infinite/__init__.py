"""Dirichlet process mixtures of networks (paper, section 4.2)."""
