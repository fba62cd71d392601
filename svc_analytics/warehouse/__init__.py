"""DuckDB over the lake: the views, their SQL, and read-only queries."""
