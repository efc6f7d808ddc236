"""Linear models and a neural network on tables encoded as matrices."""
