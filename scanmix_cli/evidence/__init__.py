"""From training dynamics to scores, verdicts and the noise matrix."""
