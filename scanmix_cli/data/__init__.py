"""What the user gave us: sources, decoding, the pixel cache."""
