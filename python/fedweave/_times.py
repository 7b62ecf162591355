"""When rows were observed, as numbers: dates in days, as on the command line."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import SizeError

SECONDS_OF_A_DAY = 86_400.0


def times_of(times: Any, rows: int) -> np.ndarray:
    """Numbers as they are; dates, or dates with times of the day, in days since 1970. NaN where a time is missing."""
    values = np.asarray(times.to_numpy() if hasattr(times, "to_numpy") else times)
    if values.shape != (rows,):
        raise SizeError(f"times: expected one per row of X, {rows}, found {values.size}", what="times", expected=rows, found=values.size)
    if values.dtype.kind in "iuf":
        return np.ascontiguousarray(values, dtype=np.float64)
    try:
        # Whole seconds, whatever the unit was.
        dates = values.astype("datetime64[s]")
    except (TypeError, ValueError):
        raise TypeError(f"times: expected numbers or dates, got {values.ravel()[0]!r}") from None
    days = dates.astype(np.int64) / SECONDS_OF_A_DAY
    return np.where(np.isnat(dates), np.nan, days)
