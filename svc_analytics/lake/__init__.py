"""The lake: one Parquet file per stream and month, written atomically.

Begin with `lake` to read and `writing.writer` to write. `layout` names all files; `month_file`
and `footer` are a month file, `side_files` the other Parquet files. What `writing` is given waits
(`waiting`) until the `publisher` brings the `month_files` up to it.
"""
