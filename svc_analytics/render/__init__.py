"""Statements as files: CSV, Parquet, JSON, Excel, HTML, PDF, journal; nothing is computed."""
