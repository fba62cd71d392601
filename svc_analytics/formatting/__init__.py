"""Values and tables as text: cells, CSV, JSON, and what is safe to show."""
