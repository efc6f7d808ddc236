"""Short ways to what tests look at."""


def view_of(model, kind):
    """Return the facts of one view of a model's facts."""
    return next(view for view in model["views"] if view["kind"] == kind)


def tables_of(model):
    return view_of(model, "ProbabilityTables")["tables"]


def kinds_of(model):
    return [view["kind"] for view in model["views"]]
