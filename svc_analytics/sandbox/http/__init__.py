"""HTTP of the sandbox: routes, responses, OpenAPI, fault injection, the control API."""
