"""What every sandbox module may use: clock, coins, amounts, errors, validation, HTML."""
