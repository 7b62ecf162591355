"""Writes docs/python-api.md from the docstrings of the package: `scripts/python api`.

With `--check` nothing is written; the exit code says whether the file is up to date.
"""

import inspect
import re
import sys
from pathlib import Path

import fedweave

PATH = Path(__file__).parents[1] / "docs" / "python-api.md"
HEAD = """# Python: reference

Made from the docstrings by `scripts/python api`; the guide is [python.md](guide/python.md).
"""


def signature(thing: object) -> str:
    """Parameters without their types, which are in the text."""
    try:
        plain = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    bare = [p.replace(annotation=inspect.Parameter.empty) for name, p in plain.parameters.items() if name != "self"]
    shown = str(plain.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    # A function as a default is shown by its name, without its address.
    return re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", shown)


def text(thing: object) -> str:
    """The docstring; what looks like code is set as code."""
    lines, out, code = (inspect.getdoc(thing) or "").splitlines(), [], False
    for k, line in enumerate(lines):
        under = lines[k + 1] if k + 1 < len(lines) else ""
        if under and set(under) == {"-"}:
            out.append(f"**{line}**\n")
            continue
        if line and set(line) == {"-"}:
            continue
        begins = line.startswith(">>>")
        if begins and not code:
            out.append("```python")
        if code and not line:
            out.append("```")
        code = (code or begins) and bool(line)
        indented = line.startswith("    ") and not code
        listed = not code and not indented and " : " in line
        out.append(f"* `{line.split(' : ')[0]}`: {line.split(' : ', 1)[1]}" if listed else line.strip() if indented else line)
    return "\n".join([*out, "```"] if code else out)


def methods(thing: type) -> list[str]:
    """Public methods that were written here."""
    found = []
    for name, member in inspect.getmembers(thing, callable):
        ours = (getattr(member, "__module__", None) or "").startswith("fedweave")
        if not name.startswith("_") and ours and inspect.getdoc(member):
            found.append(f"### {thing.__name__}.{name}{signature(member)}\n\n{text(member)}\n")
    return found


def page() -> str:
    """The whole file."""
    parts = [HEAD]
    for name in sorted(set(fedweave.__all__) - {"errors"}, key=lambda name: (name.lower(), name)):
        thing = getattr(fedweave, name)
        parts.append(f"## {name}{signature(thing)}\n\n{text(thing)}\n")
        if inspect.isclass(thing):
            parts.extend(methods(thing))
    parts.append(f"## errors\n\n{text(fedweave.errors)}\n")
    for name, kind in vars(fedweave.errors).items():
        if inspect.isclass(kind) and issubclass(kind, ValueError):
            parts.append(f"* `{name}`: {inspect.getdoc(kind).splitlines()[0]}")
    return "\n".join(parts) + "\n"


def main() -> int:
    if "--check" in sys.argv[1:]:
        return int(PATH.read_text(encoding="utf-8") != page())
    PATH.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
