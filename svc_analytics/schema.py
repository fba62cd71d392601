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


# The columns that no service gives.
_OWN = {
    "extra": "properties the contract does not name, JSON text",
    "extracted_at": "when this content was first read, UTC",
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
    meaning: str = ""  # for people: the comment of the column in files and views


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
    def meanings(self) -> dict[str, str]:
        """What each column of a month file means; none of a stream without month files."""
        written = {each.name: each.meaning for each in (*self.columns, *self.derived)}
        return {name: text for name, text in (written | _OWN).items() if text}

    @cached_property
    def commented_schema(self) -> pa.Schema:
        """The schema of a month file, each column with its meaning as a comment."""
        return pa.schema(
            [each.with_metadata({"comment": self.meanings[each.name]}) for each in self.schema]
        )

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


def _required(
    name: str, kind: Kind = "text", *, is_uuid: bool = False, meaning: str = ""
) -> Column:
    return Column(name, kind, is_required=True, is_uuid=is_uuid, meaning=meaning)


PAYMENTS = Stream(
    name="payments",
    route="payments",
    instant="paid_at",
    columns=(
        _required("id", is_uuid=True, meaning="the payment, UUID"),
        Column("receipt_no", meaning="receipt number, SVC-..."),
        Column("session_id", is_uuid=True, meaning="the checkout session it completed, UUID"),
        Column("reference_id", meaning="the merchant's own order id"),
        _required("status", meaning="completed is money; any other value is counted in no figure"),
        _required("currency", meaning="coin slug"),
        _required("amount", "money", meaning="the priced amount"),
        _required(
            "charged_amount", "money", meaning="what the payer paid; the cap for cumulative refunds"
        ),
        _required("fee_amount", "money", meaning="the service's fee"),
        Column("fee_bearer", meaning="who bears the fee; merchant is the value seen"),
        _required(
            "net_amount",
            "money",
            meaning="what reached the business wallet, as stated by the service",
        ),
        Column(
            "usd_value",
            "money",
            meaning="value in USD as recorded by the service; NULL when it gave none",
        ),
        Column("payer_id", is_uuid=True, meaning="opaque handle of the paying customer, UUID"),
        Column("metadata", "json", is_fact=False, meaning="the merchant's own data, JSON text"),
        Column("receipt", is_free=True, meaning="signed receipt token"),
        _required("paid_at", "instant", meaning="when it was paid, UTC"),
    ),
    derived=(
        Column("usd_net", "money", meaning="net amount in USD, at the payment's own rate"),
        Column("usd_fee", "money", meaning="fee in USD, at the payment's own rate"),
        Column("usd_rate", "money", meaning="the payment's own rate: USD per coin"),
        Column("fee_rate", "ratio", meaning="fee as a part of the amount"),
    ),
    booked="paid_at",
)

PAYOUT_RECORDS = Stream(
    name="payout_records",
    route="payouts",
    instant="created_at",
    settles_within=DAY,
    columns=(
        _required("id", is_uuid=True, meaning="the payout or refund, UUID"),
        Column(
            "reference_id",
            meaning="the merchant's own id of it; NULL is possible for console payouts",
        ),
        _required("kind", meaning="payout or refund; any other value is counted in no figure"),
        _required("status", meaning="completed is money; any other value is counted in no figure"),
        _required("currency", meaning="coin slug"),
        _required("amount", "money", meaning="what the recipient receives"),
        _required("debited_amount", "money", meaning="what the business wallet is debited"),
        _required("fee_amount", "money", meaning="the service's fee; zero on a refund"),
        Column("fee_percent", "money", meaning="the rate of the fee as the service states it"),
        Column(
            "usd_value",
            "money",
            meaning="value in USD as recorded by the service; NULL when it gave none",
        ),
        Column("payer_id", is_uuid=True, meaning="opaque handle of the recipient, UUID"),
        Column("payment_id", is_uuid=True, meaning="the refunded payment; NULL on a payout"),
        Column("comment", is_fact=False, is_free=True, meaning="the merchant's note"),
        _required(
            "created_at", "instant", meaning="when it was made, UTC; the service lists by it"
        ),
        _required("settled_at", "instant", meaning="when the money moved, UTC; figures book by it"),
    ),
    derived=(
        Column("usd_rate", "money", meaning="the record's own rate: USD per coin"),
        Column("fee_rate", "ratio", meaning="fee as a part of the amount"),
    ),
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
