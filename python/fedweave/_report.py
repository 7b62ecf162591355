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


def embedded(facts: str) -> str:
    """The page in a frame, for notebooks."""
    return f'<iframe srcdoc="{html.escape(page(facts), quote=True)}" width="100%" height="640" style="border:0"></iframe>'
