"""How the doctor finds a lake whose months are sealed."""

from pathlib import Path

from tests.support.fake_service import payment


def lines(call, *names: str) -> list[str]:
    """The doctor's lines of some names."""
    found = call("doctor").out.splitlines()
    return [line for line in found if line.partition(":")[0].split()[-1] in names]


def test_a_sealed_month_that_changed_or_was_altered_is_wrong(call, closer, monkeypatch):
    """It is over, and has a seal, and still a person should look."""
    monkeypatch.setenv("SVC_PATIENCE", "1")  # its service is not there
    closer.closed("2026-08", "2026-09", "2026-10")
    assert lines(call, "months", "seals") == [
        "well months: every month that is over is sealed, and holds"
    ]
    table = Path("data/statements/2026-09/summary.csv")
    content = table.read_bytes()
    table.write_bytes(content.replace(b"2", b"3", 1))
    [wrong] = lines(call, "months", "seals")
    assert wrong.startswith("wrong seals: 2026-09 is sealed, and ") and "summary.csv" in wrong
    table.write_bytes(content)
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closer.desk.extract(rereads=True)
    [wrong] = lines(call, "months", "seals")
    assert wrong.startswith("wrong seals: 2026-10 is sealed, and changed since it was sealed")
