"""The lake: one Parquet file per stream and month, written atomically."""
