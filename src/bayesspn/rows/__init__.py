"""The table as the engine reads it: codebook, encoded rows, fingerprints."""
