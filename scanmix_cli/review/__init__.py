"""A local page on which people decide about suspects; `cli/review.py` starts it."""
