"""Short readable games, one for every rule and ruling."""
