"""The generative model: its priors, its circuits, and explicit networks."""
