"""Proofs for strangers: the tree of a statement's lines, its checkpoint, signature and stamp."""
