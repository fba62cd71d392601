"""Axes that a test draws on."""

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()
