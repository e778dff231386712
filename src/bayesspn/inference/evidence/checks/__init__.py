"""Two estimates of the model evidence that share little with bridge sampling, and check it."""
