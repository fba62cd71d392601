"""The lake: one Parquet file per stream and month, written atomically.

Begin with `lake` to read and `writing.writer` to write. `layout` names all files; `month_file`
and `footer` are a month file, `side_files` and `quarantine` the other Parquet files. Within
`writing`, a `write_buffer` goes through the `publisher`, with `merge`, `month_coverage` and
`month_files`, checked by `control_totals`; `recovery` repairs what a kill left.
"""
