"""Chromium, for tests that look at pages as a person does."""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """The path of a Chromium; without one, skip, or fail where it is required."""
    for found in map(shutil.which, NAMES):
        if found:
            return found
    reason = "no Chromium on this machine: install the package chromium"
    if os.environ.get("SVC_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    return pytest.skip(reason)
