"""HTTP of the sandbox: routes, responses, OpenAPI, faults, the control API."""
