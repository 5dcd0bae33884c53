"""Base classes of the commands and of their results.

A command is a dataclass. Its fields are the command line options, and its docstring is the text of ``--help``.
"""

from __future__ import annotations

import errno
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from inspect import Parameter, Signature, cleandoc, get_annotations
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import typer
from rich.console import RenderableType
from typer.core import TyperCommand
from typer.models import ParameterInfo

from fcca.cli._checks import OptionCheck
from fcca.cli._running import Output, run_command
from fcca.utils import AtomicOutputs, atomic_outputs, close_to

LAST_PANEL = "Counterfactuals and thresholds"
PLAIN_EPILOG = "Exit codes: 0 done; 1 the file could not be written; 2 data or options cannot be used; 130 interrupted."
EPILOG = (
    "Exit codes: 0 done; 1 the files could not be written; 2 data or options cannot be used; 3 done, but some "
    "counterfactuals do not flip the model's prediction; 130 interrupted."
)
# The message of Typer for a value that is not among the choices of an option.
UNKNOWN_CHOICE = re.compile(r"'(.*)' is not one of (.*)")


class Result(ABC):
    """The result of a command.

    It can be printed, converted to JSON and written to files.
    """

    notes: tuple[str, ...]

    @abstractmethod
    def summary(self, written: Sequence[Path]) -> RenderableType:
        """Return the tables and texts to print.

        ``written`` are the paths of the written files.
        """

    def document(self, written: Sequence[Path]) -> dict[str, Any]:
        """Return the result as a dictionary, for ``--json``.

        ``written`` are the paths of the written files.
        """
        raise NotImplementedError

    def write(self, outputs: AtomicOutputs) -> None:
        """Write the files to ``outputs``.

        Results that are written to files override this method.
        """
        raise NotImplementedError

    def verdict(self) -> tuple[int, str]:
        """Return the exit code and an error message.

        The message is empty if there is no error.
        """
        return 0, ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """Base class of the commands.

    The fields of a command are its options. Their types are ``Annotated`` types with help strings, as Typer expects, and may
    contain an :class:`OptionCheck`. In each panel of the help, the options of a class come before the options of its
    base classes. Fields with ``init=False`` are not options. Modules with commands do not use
    ``from __future__ import annotations``, because Typer evaluates the annotations.
    """

    epilog: ClassVar[str] = PLAIN_EPILOG
    last_file: ClassVar[str | None] = None  # written after all others

    out: Any = field(default=None, init=False)
    as_json: bool = field(default=False, init=False)
    quiet: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        for name, hint in options_of(type(self)).items():
            value = getattr(self, name)
            for check in hint.__metadata__:
                if isinstance(check, OptionCheck) and value is not None:
                    check.of(f"--{name.replace('_', '-')}", value)
        self.check()

    def check(self) -> None:
        """Check combinations of options.

        Each option was already checked on its own.
        """

    def targets(self) -> tuple[Path, Sequence[str]]:
        """Return the directory and the names of the files that the command will write."""
        return (Path(), []) if self.out is None else (self.out.parent, [self.out.name])

    def run(self, output: Output) -> int:
        """Compute the result, write its files, print it, and return the exit code."""
        result: Result | None = None
        failure: OSError | None = None
        directory, names = self.targets()
        try:
            with (
                atomic_outputs(directory, last=self.last_file)
                if names
                else nullcontext(AtomicOutputs(directory)) as outputs,
                output.progress(),
            ):
                for name in names:
                    outputs.path(name)  # checks every output path before any work
                result = self.compute(output, outputs)
                if names:
                    result.write(outputs)
        except OSError as error:
            if result is None:
                if error.errno != errno.ENOSPC:
                    raise
                return output.cannot_write(self.out, error)  # some results are written while they are computed
            failure = error  # print the result anyway
        written = [] if failure else [directory / name for name in names]
        output.result(lambda: result.summary(written), lambda: result.document(written), result.notes)
        if failure is not None:
            return output.cannot_write(self.out, failure)
        code, message = result.verdict()
        if message:
            output.error(message)
        self.show(output)
        return code

    def compute(self, output: Output, outputs: AtomicOutputs) -> Result:
        """Compute the result.

        Commands override either this method or :meth:`run`. ``output`` prints notes, and ``outputs`` are the files to write.
        """
        raise NotImplementedError

    def show(self, output: Output) -> None:
        """Open the output in a browser if ``--open`` was given.

        Commands without this option do nothing here.
        """


def options_of(command: type[Command]) -> dict[str, Any]:
    """Map the options of a command to their annotations, in the order of ``--help``."""
    hints = get_type_hints(command, include_extras=True)
    names: list[str] = []
    for base in filter(is_dataclass, command.__mro__):
        initial = {field.name for field in fields(base) if field.init}
        declared = [name for name in get_annotations(base) if name in initial]
        names = [name for name in names if name not in declared] + declared  # a repeated option keeps its place in the base
    is_option = {field.name: field.init for field in fields(command)}
    options = {name: hints[name] for name in names if is_option[name]}
    return dict(sorted(options.items(), key=lambda option: _panel(option[1]) == LAST_PANEL))


def _panel(hint: Any) -> str | None:
    return next(info.rich_help_panel for info in hint.__metadata__ if isinstance(info, ParameterInfo))


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    """Return an option as a function parameter for Typer.

    Typer needs a list type for an option that can be repeated. The commands declare it as a tuple.
    """
    kind, *others = get_args(hint)
    if get_origin(kind) is tuple:
        kind, default = GenericAlias(list, get_args(kind)[:1]) | None, None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, *others])


class _Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if unknown := UNKNOWN_CHOICE.search(error.message):
                choices = re.findall("'([^']*)'", unknown[2])
                error.message = f"{unknown[1]!r} is unknown. {close_to(unknown[1], choices)}"
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        return flags_without_type(super().get_params(ctx))


def flags_without_type(params: list[Any]) -> list[Any]:
    """Remove the type, such as BOOLEAN, from flags in ``--help``."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


def add_command(app: typer.Typer, command: type[Command]) -> None:
    """Add a command to the application, under the lower-case name of its class."""
    options = options_of(command)
    defaults = {field.name: Parameter.empty if field.default is MISSING else field.default for field in fields(command)}
    several = [name for name, hint in options.items() if get_origin(get_args(hint)[0]) is tuple]

    def run(**given: Any) -> None:
        given |= {name: tuple(given[name] or ()) for name in several}
        output = Output(given.get("quiet", False), given.get("as_json", False))
        run_command(lambda: command(**given).run(output), output)

    parameters = [_parameter(name, hint, defaults[name]) for name, hint in options.items()]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    text = re.sub(r"(?<!\n)\n(?!\n|\[cyan\])", " ", cleandoc(command.__doc__ or ""))  # unwrap paragraphs
    app.command(
        command.__name__.lower(), cls=_Command, help=text, short_help=text.partition("\n")[0], epilog=command.epilog
    )(run)
