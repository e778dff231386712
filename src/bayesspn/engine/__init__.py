"""The engine: what touches rows. `oracle` reads like the maths, `compiled` gives it speed."""
