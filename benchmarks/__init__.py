"""Speed as ratios: every figure stands beside a peer's, measured in the same run."""
