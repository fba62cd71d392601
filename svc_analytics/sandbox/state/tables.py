"""Tables for what happens on the service after its seeded past.

Units are whole numbers of a coin's smallest unit, stored as text because ether amounts
exceed SQLite's integers. Instants are UTC microseconds.
"""

from svc_analytics.sandbox.state.store import Store

_TABLES = (
    "settings (name text primary key, value text not null)",
    "api_keys (id text primary key, class text, hash text unique, allowlist text,"
    " created_at integer, revoked_at integer)",
    "secrets (kind text, secret text, valid_from integer)",
    "customers (payer_id text primary key, email text unique, name text, native_name text,"
    " state text, totp text)",
    "entries (id integer primary key, movement text, at integer, account text, currency text,"
    " units text)",
    "balances (account text, currency text, units text, primary key (account, currency))",
    "requests (kind text, reference_id text, fingerprint text, primary key (kind, reference_id))",
    "sessions (id text primary key, reference_id text unique, status text, request text,"
    " amounts text, payment_id text, expires_at integer, created_at integer)",
    "payout_volume (at integer, microdollars integer)",
    "lookups (at integer)",
    "wrong_codes (payer_id text, at integer)",
    "bindings (id text primary key, customer_id text, payer_id text, status text, supplied text,"
    " match_score text, match_passed integer, reason text, bound_at integer, reviewed_at integer,"
    " created_at integer)",
    "events (id text primary key, type text, body text, at integer, state text, attempts integer,"
    " next_at integer)",
    "attempts (event_id text, at integer, outcome text)",
)
_INDEXES = (
    "index if not exists sessions_by_expiry on sessions (status, expires_at)",
    "index if not exists payments_by_session on payments (session_id)",
    "index if not exists payments_by_reference on payments (reference_id)",
    "index if not exists payments_by_payer on payments (payer_id)",
    "index if not exists payout_records_by_payment on payout_records (payment_id)",
    "index if not exists entries_by_time on entries (at)",
    "index if not exists attempts_by_event on attempts (event_id)",
    "index if not exists events_by_due on events (state, next_at)",
    "index if not exists wrong_codes_by_payer on wrong_codes (payer_id, at)",
    # A customer and an account have at most one live binding each.
    "unique index if not exists bindings_by_customer on bindings (customer_id)"
    " where status <> 'revoked'",
    "unique index if not exists bindings_by_payer on bindings (payer_id) where status <> 'revoked'",
)


def prepare(store: Store) -> None:
    """Create the missing tables; a file of an older sandbox gets them too."""
    newest = "select count(*) from sqlite_master where name in (?, ?)"
    if store.first(newest, "wrong_codes_by_payer", "entries_by_time") == (2,):
        return
    with store.transaction():
        for table in _TABLES:
            store.fetch(f"create table if not exists {table}")
        for index in _INDEXES:
            store.fetch(f"create {index}")
