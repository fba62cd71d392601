"""Webhook deliveries reconciled with the lake."""
