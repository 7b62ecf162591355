"""Every public name has an example that runs, and the reference is what the docstrings say."""

import doctest
import inspect
import runpy
from pathlib import Path

import matplotlib
import pytest

import fedweave

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).parents[2]
PUBLIC = [name for name in fedweave.__all__ if name != "errors"]


@pytest.mark.parametrize("name", [*PUBLIC, "errors.FedweaveError"])
def test_examples_of_docstrings(name):
    thing = fedweave
    for part in name.split("."):
        thing = getattr(thing, part)
    tests = doctest.DocTestFinder(recurse=False).find(thing, name, globs={})
    assert tests and any(test.examples for test in tests), f"{name} has no example"
    for test in tests:
        failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
        plt.close("all")
        assert failed.failed == 0


def test_public_methods_say_what_they_do():
    for name in PUBLIC:
        thing = getattr(fedweave, name)
        for method, member in inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else []:
            if not method.startswith("_") and member.__module__.startswith("fedweave"):
                assert inspect.getdoc(member), f"{name}.{method}"


def test_the_reference_is_fresh():
    made = runpy.run_path(str(ROOT / "scripts" / "python_api.py"))
    assert made["PATH"].read_text(encoding="utf-8") == made["page"](), "run scripts/python api"
