"""Profiles: settings as data. `official` and `paper` reproduce the publication, `fast` and `auto` are ours."""
