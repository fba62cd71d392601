"""HTML of the sandbox: the business console, the checkout widget, the embed script."""
