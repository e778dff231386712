"""The model evidence p(x) of a graph and its priors."""
