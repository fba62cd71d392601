"""What the doctor looks at, by kinds."""
