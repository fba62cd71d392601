"""Core of the sandbox: clock, coins, amounts, errors, validation, HTML."""
