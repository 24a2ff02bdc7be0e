"""The rows of a table of samples."""

from scanmix_cli.data.samples import Samples


def rows(samples: Samples) -> list[tuple[str, str, str]]:
    table = samples.table
    return list(zip(table["filename"], table["split"], table["given_label"], strict=True))
