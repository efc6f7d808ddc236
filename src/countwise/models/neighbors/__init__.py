"""Models of stored rows: nearest neighbors, condensed sets and local regression."""
