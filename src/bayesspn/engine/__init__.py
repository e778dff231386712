"""The engine: what touches rows. `oracle` reads like the maths, `compiled` is fast, same answers."""
