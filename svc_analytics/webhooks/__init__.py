"""Webhook deliveries: verified from a saved log, and reconciled with the lake."""
