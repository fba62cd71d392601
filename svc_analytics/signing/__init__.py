"""Secrets and HMAC signatures: receipt tokens and webhook signatures. No I/O."""
