"""Tables as text and files. Renderers only render: every value comes in finished."""
