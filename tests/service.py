"""A web service that predicts rents, with FastAPI; docs/deploy.md shows it."""

from __future__ import annotations

import os
from typing import Annotated

import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel, Field

from pyopencl_gbdt import Model


class Flat(BaseModel):
    """A row; None is a missing value."""

    area: float | None
    town: str | None


def make_app(path: str | os.PathLike[str]) -> FastAPI:
    """Return the service of a model file."""
    model = Model.load_model(path)  # once, for all requests and threads
    names = model.feature_names
    app = FastAPI()

    @app.post("/rent")
    def rent(flats: Annotated[list[Flat], Field(min_length=1)]) -> dict[str, list[float]]:
        # `def`, not `async def`: FastAPI runs it in a thread
        rows = np.array([[getattr(flat, name) for name in names] for flat in flats], dtype=object)
        return {"rent": model.predict(rows).tolist()}

    @app.get("/health")
    def health() -> dict[str, int]:
        return {"rounds": model.num_boosted_rounds()}

    return app
