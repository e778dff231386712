"""What all layers build on: special functions, random numbers, compilation, threads."""
