"""What the README and notebook 07 say of pandas on these frames, claim by claim."""

import io
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

TINY = Decimal("0.000000000000000001")
EXACT_SUM = Decimal("90000000000000000.000000000000000001")
KIND = pa.decimal128(38, 18)


def frame(*amounts: Decimal | None) -> pd.DataFrame:
    table = pa.table({"coin": ["btc"] * len(amounts), "net": pa.array(amounts, KIND)})
    result: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return result


MONEY = frame(Decimal(10**17), TINY, -Decimal(10**16))


@pytest.mark.parametrize(
    ("ask", "exact"),
    [
        (lambda f: f["net"].sum(), EXACT_SUM),
        (lambda f: f.groupby("coin")["net"].sum()["btc"], EXACT_SUM),
        (lambda f: f["net"].max() + f["net"].min(), Decimal(9 * 10**16)),
        (lambda f: f.sort_values("net")["net"].iloc[1], TINY),
        (lambda f: f[f["net"] < 1]["net"].iloc[0], TINY),
        (lambda f: f.merge(f.head(1), on="coin")["net_x"].iloc[1], TINY),
    ],
)
def test_these_operations_keep_every_digit(ask, exact):
    """Sum, group, compare, sort, filter, join: 90,000,000,000,000,000.000000000000000001."""
    assert ask(MONEY) == exact


@pytest.mark.parametrize(
    "ask",
    [
        lambda f: f["net"] + f["net"],
        lambda f: f["net"] - f["net"],
        lambda f: f["net"] * 2,
        lambda f: f["net"] / f["net"],
        lambda f: f["net"].cumsum(),
    ],
)
def test_these_operations_refuse(ask):
    """They raise, so nobody goes on with a wrong number: SQL does them."""
    with pytest.raises((pa.ArrowInvalid, TypeError)):
        ask(MONEY)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.median(),
        lambda s: s.std(),
        lambda s: s.astype("float64").iloc[0],
        lambda s: (s * 0.5).iloc[0],
    ],
)
def test_these_operations_answer_in_floats(ask):
    """Positions in a picture, never money."""
    assert isinstance(ask(MONEY["net"]), float)


def test_sums_past_the_limit_are_wrong_without_a_word():
    """2 x 99999999999999999999 turns negative in pandas; SQL refuses (see test_warehouse)."""
    assert frame(*[Decimal(10**20 - 1)] * 2)["net"].sum() < 0


LONG = Decimal("7999.123456789012345678")


def test_csv_has_every_digit_but_writes_exponents():
    """Which some programs do not read as an amount: `sql --csv` writes none."""
    assert frame(LONG, TINY, Decimal(0))["net"].to_csv(index=False).split() == [
        *("net", "7999.123456789012345678", "1E-18", "0E-18")
    ]


def test_parquet_and_json_keep_every_digit(tmp_path):
    """Parquet as decimals, JSON as texts."""
    money = frame(LONG, TINY)
    money.to_parquet(tmp_path / "money.parquet")
    read = pd.read_parquet(tmp_path / "money.parquet", dtype_backend="pyarrow")
    assert read["net"].tolist() == [LONG, TINY]
    assert f'"{LONG}"' in money.to_json()


def test_excel_loses_digits_of_numbers_and_none_of_texts(tmp_path):
    """And gives floats back, unless the cells are texts that are read as such."""
    path = tmp_path / "money.xlsx"
    frame(LONG).to_excel(path, index=False)
    assert pd.read_excel(path)["net"].tolist() == [7999.123456789012]
    texts = frame(LONG)["net"].map("{:f}".format, na_action="ignore")
    texts.to_excel(path, index=False)
    assert pd.read_excel(path, dtype=str)["net"].tolist() == [str(LONG)]


def test_csv_is_read_as_floats_unless_as_texts():
    """As `read_csv` does with any long number."""
    text = f"net\n{LONG}\n"
    assert pd.read_csv(io.StringIO(text))["net"].tolist() == [7999.123456789012]
    assert pd.read_csv(io.StringIO(text), dtype=str)["net"].tolist() == [str(LONG)]
