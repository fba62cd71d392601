"""Values and tables as text: cells, CSV, JSON, escapes."""
