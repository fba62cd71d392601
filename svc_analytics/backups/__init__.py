"""Backups of a lake: plain files in a folder or a bucket, and an inventory of each backup.

`lake/` holds the files of the newest backup, named as in the lake; `older/`, below their digests,
those that were replaced or removed since; `backups/` one inventory for each backup, which names
its files with their sizes and digests. No content is ever overwritten, and an inventory is
written when all that it names has arrived: so each backup that has one can be restored, wherever
a later one was interrupted.
"""
