"""A saved model for commands that classify: loaded, and refused if it cannot."""

from __future__ import annotations

from typing import Any

from countwise.errors import StoreError


def load_model(path: str, who: str) -> Any:
    """Load a saved model; a file that holds something else is refused."""
    from countwise.store.files import load

    model = load(path)
    if not hasattr(model, "predict_proba"):
        raise StoreError(
            f"{who}: {path!r} must hold a model, but it holds a {type(model).__name__}. Train one "
            "with countwise fit."
        )
    return model
