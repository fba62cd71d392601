"""What DuckDB tells of an interruption, and of everything else."""

import pytest

from svc_analytics.interruption import interruptible


def test_an_interrupted_query_is_an_interruption() -> None:
    """Ctrl-C stops what is running, as it would in plain Python."""
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise RuntimeError("Query interrupted")


def test_another_error_stays_what_it_is() -> None:
    """Only this one text means that somebody pressed a key."""
    with pytest.raises(RuntimeError, match="out of memory"), interruptible():
        raise RuntimeError("out of memory")
