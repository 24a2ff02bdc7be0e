"""Typer layer: one module a command; each reads options, calls one function and prints."""
