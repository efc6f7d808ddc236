"""Models: the contract, the registry and one folder for each family."""
