"""The page of a result: the same as `report.html` of the command line, from the same facts."""

from __future__ import annotations

import html
from typing import Any

from . import _engine


def page(facts: str, path: Any = None, title: str | None = None) -> str:
    """One self-contained HTML page; written to `path` if there is one."""
    text: str = _engine.render(facts, title)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text


class Reported:
    """What has a report once it is fitted."""

    _report: str

    def _html_repr(self, *args: Any, **kwargs: Any) -> str:
        """The report, once fitted."""
        if not hasattr(self, "_report"):
            return str(super()._html_repr(*args, **kwargs))  # type: ignore[misc]
        return embedded(self._report)

    def report(self, path: Any = None, title: str | None = None) -> str:
        """The report of a fitted estimator as one HTML page; written to `path` if there is one."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "_report")
        return page(self._report, path, title)


def embedded(facts: str) -> str:
    """The page in a frame, for notebooks."""
    return f'<iframe srcdoc="{html.escape(page(facts), quote=True)}" width="100%" height="640" style="border:0"></iframe>'
