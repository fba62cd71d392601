"""The finance desk of a merchant on the Merchant Payments API."""
