-- Tables for what happens on the service after its seeded past.
-- Units are whole numbers of a coin's smallest unit, as text: ether amounts exceed the integers
-- of SQLite. Instants are UTC microseconds.

create table if not exists settings (name text primary key, value text not null);

create table if not exists api_keys (
    id text primary key, class text, hash text unique, allowlist text, created_at integer,
    revoked_at integer
);

create table if not exists secrets (kind text, secret text, valid_from integer);

create table if not exists customers (
    payer_id text primary key, email text unique, name text, native_name text, state text, totp text
);

create table if not exists entries (
    id integer primary key, movement text, at integer, account text, currency text, units text
);

create table if not exists balances (
    account text, currency text, units text, primary key (account, currency)
);

create table if not exists requests (
    kind text, reference_id text, fingerprint text, primary key (kind, reference_id)
);

create table if not exists sessions (
    id text primary key, reference_id text unique, status text, request text, amounts text,
    payment_id text, expires_at integer, created_at integer
);

create table if not exists payout_volume (at integer, microdollars integer);

create table if not exists lookups (at integer);

create table if not exists wrong_codes (payer_id text, at integer);

create table if not exists bindings (
    id text primary key, customer_id text, payer_id text, status text, supplied text,
    match_score text, match_passed integer, reason text, bound_at integer, reviewed_at integer,
    created_at integer
);

create table if not exists events (
    id text primary key, type text, body text, at integer, state text, attempts integer,
    next_at integer
);

create table if not exists attempts (event_id text, at integer, outcome text);

create index if not exists sessions_by_expiry on sessions (status, expires_at);
create index if not exists payments_by_session on payments (session_id);
create index if not exists payments_by_reference on payments (reference_id);
create index if not exists payments_by_payer on payments (payer_id);
create index if not exists payout_records_by_payment on payout_records (payment_id);
create index if not exists entries_by_time on entries (at);
create index if not exists attempts_by_event on attempts (event_id);
create index if not exists events_by_due on events (state, next_at);
create index if not exists wrong_codes_by_payer on wrong_codes (payer_id, at);

-- A customer and an account have at most one live binding each.
create unique index if not exists bindings_by_customer on bindings (customer_id)
where status <> 'revoked';
create unique index if not exists bindings_by_payer on bindings (payer_id)
where status <> 'revoked'
