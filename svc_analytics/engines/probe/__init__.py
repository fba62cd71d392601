"""The probe: what an engine must answer before a figure is asked of it."""
