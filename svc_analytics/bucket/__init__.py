"""A lake in a bucket: its objects, and the folder of this machine that is a copy of them.

`address` reads the URL, `store` speaks with the store and `probe` finds out whether it keeps
conditions; `mirror` is the folder, `book` what it holds, `lease` who writes, `bundle` a
statement as one object, `pins` the versions that a snapshot is of. `writing` is the storage
of such a lake: it puts what replaces a file there.
"""
