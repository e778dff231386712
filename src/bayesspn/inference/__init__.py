"""Gibbs sampling of structure and parameters: one move per file, the sweep, chains."""
