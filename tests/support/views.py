"""The views of the warehouse, without the table macros of a statement."""

from svc_analytics.warehouse.models import Model, read_all_models


def views() -> list[Model]:
    """Return the views in the order in which they are made."""
    return [model for model in read_all_models() if not model.signature]
