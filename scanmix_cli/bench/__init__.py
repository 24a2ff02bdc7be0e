"""Benchmarks: data sets, noise recipes, methods side by side."""
