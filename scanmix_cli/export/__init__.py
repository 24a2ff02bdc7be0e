"""Hand-offs: a run's images and labels in the layouts that other tools read, and their results as decisions."""
