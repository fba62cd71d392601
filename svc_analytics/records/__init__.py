"""Bytes of a list page to exact Arrow rows, or rejected records."""
