#!/usr/bin/env bash
# Makes receipt tokens with nothing but openssl and the contract's formula, one a line:
# the secret, a tab, the token. Usage: bash make.sh < payloads.tsv > tokens.tsv
set -euo pipefail

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

while IFS=$'\t' read -r secret payload; do
    segment=$(printf '%s' "$payload" | base64url)
    key=$(printf '%s' "$secret" | od -An -v -tx1 | tr -d ' \n')
    mac=$(printf '%s' "v1.$segment" |
        openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64url)
    printf '%s\tv1.%s.%s\n' "$secret" "$segment" "$mac"
done
