"""Questions to a posterior, answered exactly: evidence in, distributions of columns out."""
