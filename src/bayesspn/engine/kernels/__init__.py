"""Compiled kernels. They know arrays only; `bayesspn.engine.compiled` prepares and calls them."""
