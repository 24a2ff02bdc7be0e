"""`python -m scanmix_cli` is the `scanmix` command."""

from scanmix_cli.cli.app import main

main()
