"""A lake in a bucket: its objects, and the folder of this machine that is a copy of them.

`address` reads the URL, `store` speaks with the store and finds out whether it keeps conditions.
`objects` says what lies there, `mirror` is the folder, and `writing` the storage of such a lake: it
puts what replaces a file there.
"""
