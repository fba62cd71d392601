"""A statement typeset as PDF, of the same tables, sentences and charts as its page."""
