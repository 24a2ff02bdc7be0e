"""A headless browser for the tests, or a reason why there is none."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """The system's Chromium, driven by Playwright. Without it tests are skipped, but not where CI is set."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        _missing("no Chromium found: install Debian's package chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not installed: pip install 'scanmix-cli[dev]'")
    with sync_playwright() as playwright:
        # root has no sandbox to start
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def _missing(reason: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
