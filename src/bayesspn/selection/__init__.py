"""Choosing a graph by the model evidence: candidates, successive halving, ranking, averages."""
