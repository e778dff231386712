"""What is kept on disk: arrays, posteriors, chains, checkpoints, estimators. Never pickle."""
