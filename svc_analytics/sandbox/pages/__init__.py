"""Pages of the sandbox: business console, checkout widget, embed script."""
