"""What can be wrong: one class per kind of error, with the facts as attributes. All are `ValueError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class FedweaveError(ValueError):
    """Any input that does not describe a problem; the facts are attributes.

    Examples
    --------
    >>> from fedweave import GTVRegressor, errors
    >>> try:
    ...     GTVRegressor([("a", "b", -1.0)]).fit([[1.0], [2.0]], [1.0, 2.0], nodes=["a", "b"])
    ... except errors.FedweaveError as error:
    ...     print(type(error).__name__, error.weight)
    EdgeWeightError -1.0
    """

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.fields = fields
        self.__dict__.update(fields)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), str(self), self.fields)


def _again(kind: type[FedweaveError], message: str, fields: dict[str, Any]) -> FedweaveError:
    return kind(message, **fields)


class SizeError(FedweaveError):
    """A size differs from the one the rest implies: `what`, `expected`, `found`."""


class SelfLoopError(FedweaveError):
    """An edge joins a node with itself: `node`."""


class UnknownNodeError(FedweaveError):
    """A node that does not exist: `node`."""


class EdgeWeightError(FedweaveError):
    """An edge weight that is not a positive finite number: `edge`, `weight`."""


class EdgeConflictError(FedweaveError):
    """The same edge twice with different weights: `first`, `second`."""


class NotFiniteError(FedweaveError):
    """A number that is not finite: `row`, `what`."""


class RowWeightError(FedweaveError):
    """A row weight below zero: `row`, `weight`."""


class LabelError(FedweaveError):
    """A label outside the domain of the loss: `row`, `label`, `loss`, `needs`."""


class ScaleError(FedweaveError):
    """A column whose squares leave the range of double precision: `column`, `size`."""


class MethodError(FedweaveError):
    """A method that does not fit the problem: `method`, `needs`."""


class ParameterError(FedweaveError):
    """A parameter outside its range: `name`, `value`, `needs`."""


class ModelError(FedweaveError):
    """A model that cannot be used, fitted or asked at a node: `node`."""


class NoMinimiserError(FedweaveError):
    """A loss that decreases for ever: `node`."""


class GraphError(FedweaveError):
    """A graph that cannot be read, or that is not about the nodes of the data."""


class FileError(FedweaveError):
    """A file that cannot be read: `path`, `line`."""


class ReportError(FedweaveError):
    """A report that cannot be drawn."""
