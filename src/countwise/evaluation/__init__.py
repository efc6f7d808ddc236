"""Evidence: how well models do on rows they have not seen, and what the data support."""
