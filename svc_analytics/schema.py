"""The schema of each stream: its columns, their kinds, and which are required.

Column order is the physical order of the month files: `id` comes first on purpose
(a reader whose file is replaced meanwhile then fails loudly).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from svc_analytics.instants import DAY
from svc_analytics.money import PRECISION, RATIO_SCALE, SCALE

MONEY = pa.decimal128(PRECISION, SCALE)
RATIO = pa.decimal128(PRECISION, RATIO_SCALE)
INSTANT = pa.timestamp("us", tz="UTC")
Instants = npt.NDArray[np.int64]  # UTC microseconds

Kind = Literal["text", "money", "ratio", "instant", "json"]
_TYPES = {
    "text": pa.string(),
    "money": MONEY,
    "ratio": RATIO,
    "instant": INSTANT,
    "json": pa.string(),
}


@dataclass(frozen=True)
class Column:
    """One property of a record; a change of a fact restates money or identity.

    A UUID is held in lower case. Of free text, what no file can hold is held as its escape.
    """

    name: str
    kind: Kind = "text"
    is_required: bool = False
    is_fact: bool = True
    is_uuid: bool = False
    is_free: bool = False


@dataclass(frozen=True)
class Stream:
    """One list of the service, kept as one folder of month files."""

    name: str
    route: str
    instant: str  # the property that `from` and `to` bound, and that names the month
    columns: tuple[Column, ...]
    derived: tuple[Column, ...] = ()  # amounts that follow from one record alone
    booked: str = ""  # the property by which figures book a record
    settles_within: int = 0  # microseconds behind `instant` in which a record may be booked

    @property
    def words(self) -> str:
        """Its name within a sentence."""
        return self.name.replace("_", " ")

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of a month file: its records, and what is derived of each."""
        return pa.schema([*self.record_schema, *map(_field, self.derived)])

    @cached_property
    def record_schema(self) -> pa.Schema:
        """The Arrow schema of records, as the service gives them."""
        contract = map(_field, self.columns)
        return pa.schema([*contract, ("extra", pa.string()), ("extracted_at", INSTANT)])

    @cached_property
    def no_rows(self) -> pa.Table:
        """An empty table of records, cached: making one takes as long as a month's totals."""
        return self.record_schema.empty_table()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the contract's properties, in physical order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def money(self) -> tuple[str, ...]:
        """The names of the amounts, in physical order."""
        return self.of_kind("money")

    def instants(self, rows: pa.Table) -> Instants:
        """Return the instant of each row, in UTC microseconds."""
        return np.asarray(rows[self.instant].cast(pa.int64()))

    def of_kind(self, kind: Kind) -> tuple[str, ...]:
        """The names of the columns of a kind, in physical order."""
        return tuple(column.name for column in self.columns if column.kind == kind)

    @cached_property
    def uuids(self) -> tuple[str, ...]:
        """The names of the columns of UUIDs, in physical order."""
        return tuple(column.name for column in self.columns if column.is_uuid)


def is_within(instants: Instants, spans: Iterable[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Tell which instants lie within one of these half-open spans."""
    inside = np.zeros(len(instants), np.bool_)
    for start, end in spans:
        inside |= (instants >= start) & (instants < end)
    return inside


@cache
def schema_digest(schema: pa.Schema) -> str:
    """Return the hash of a schema, which a month file's footer repeats."""
    return sha256(schema.serialize()).hexdigest()


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, _TYPES[column.kind])


def _required(name: str, kind: Kind = "text", *, is_uuid: bool = False) -> Column:
    return Column(name, kind, is_required=True, is_uuid=is_uuid)


PAYMENTS = Stream(
    name="payments",
    route="payments",
    instant="paid_at",
    columns=(
        _required("id", is_uuid=True),
        Column("receipt_no"),
        Column("session_id", is_uuid=True),
        Column("reference_id"),
        _required("status"),
        _required("currency"),
        _required("amount", "money"),
        _required("charged_amount", "money"),
        _required("fee_amount", "money"),
        Column("fee_bearer"),
        _required("net_amount", "money"),
        Column("usd_value", "money"),
        Column("payer_id", is_uuid=True),
        Column("metadata", "json", is_fact=False),
        Column("receipt", is_free=True),
        _required("paid_at", "instant"),
    ),
    derived=(
        Column("usd_net", "money"),
        Column("usd_fee", "money"),
        Column("usd_rate", "money"),
        Column("fee_rate", "ratio"),
    ),
    booked="paid_at",
)

PAYOUT_RECORDS = Stream(
    name="payout_records",
    route="payouts",
    instant="created_at",
    settles_within=DAY,
    columns=(
        _required("id", is_uuid=True),
        Column("reference_id"),
        _required("kind"),
        _required("status"),
        _required("currency"),
        _required("amount", "money"),
        _required("debited_amount", "money"),
        _required("fee_amount", "money"),
        Column("fee_percent", "money"),
        Column("usd_value", "money"),
        Column("payer_id", is_uuid=True),
        Column("payment_id", is_uuid=True),
        Column("comment", is_fact=False, is_free=True),
        _required("created_at", "instant"),
        _required("settled_at", "instant"),
    ),
    derived=(Column("usd_rate", "money"), Column("fee_rate", "ratio")),
    booked="settled_at",
)

STREAMS = {stream.name: stream for stream in (PAYMENTS, PAYOUT_RECORDS)}

# Looked up one by one by their ids, because the service does not list them by time: so
# each stream is one file, and its first column is its key.
SESSIONS = Stream(
    name="sessions",
    route="session",
    instant="created_at",
    columns=(
        _required("id", is_uuid=True),
        Column("reference_id"),
        _required("status"),
        Column("title", is_free=True),
        Column("description", is_free=True),
        Column("amounts", "json"),
        Column("pricing_mode"),
        Column("price_usd", "money"),
        Column("checkout_url", is_free=True),
        Column("return_url", is_free=True),
        Column("cancel_url", is_free=True),
        Column("metadata", "json"),
        Column("payment", "json"),
        Column("expires_at", "instant"),
        Column("created_at", "instant"),
    ),
)

BINDINGS = Stream(
    name="bindings",
    route="binding",
    instant="created_at",
    columns=(
        _required("customer_id"),
        _required("state"),  # of the answer; none when no live binding exists
        Column("binding_id", is_uuid=True),
        Column("payer_id", is_uuid=True),
        Column("masked_name", is_free=True),
        Column("supplied_name", is_free=True),
        Column("supplied_name_native", is_free=True),
        Column("supplied_email", is_free=True),
        Column("status"),
        Column("match_score"),
        Column("match_passed", "json"),
        Column("bound_at", "instant"),
        Column("reviewed_at", "instant"),
        Column("created_at", "instant"),
    ),
)

SIDE_STREAMS = {stream.name: stream for stream in (SESSIONS, BINDINGS)}
