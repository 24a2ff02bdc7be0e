"""Network definitions; nothing here knows the rest of the package."""
