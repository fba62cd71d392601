"""A second engine: the same SQL, compiled for it, and the same digits."""
