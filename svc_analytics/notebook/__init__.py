"""What notebooks use: displays, pickers, pictures, and running them."""
