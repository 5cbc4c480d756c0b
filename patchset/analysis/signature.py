"""The parameters that a function or a constructor takes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from inspect import _ParameterKind as ParameterKind

from patchset.analysis.scope import FunctionNode

POSITIONAL_ONLY = ParameterKind.POSITIONAL_ONLY
POSITIONAL = ParameterKind.POSITIONAL_OR_KEYWORD
VAR_POSITIONAL = ParameterKind.VAR_POSITIONAL
KEYWORD_ONLY = ParameterKind.KEYWORD_ONLY
VAR_KEYWORD = ParameterKind.VAR_KEYWORD


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter."""

    name: str
    kind: ParameterKind
    required: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Signature:
    """What a call must give, in order."""

    parameters: tuple[Parameter, ...]
    place: str
    """`path:line` of the definition."""
    lenient: bool = False
    """Whether code may fill in what is missing, so that nothing is required."""

    def without_first(self) -> Signature:
        """Return what is left once the first positional parameter is given."""
        first = self.parameters[:1]
        if first and first[0].kind in (POSITIONAL_ONLY, POSITIONAL):
            return replace(self, parameters=self.parameters[1:])
        return self

    def __str__(self) -> str:
        """Write it as in Python, `=…` for what has a default."""
        words: list[str] = []
        kinds = [each.kind for each in self.parameters]
        for index, each in enumerate(self.parameters):
            if each.kind is KEYWORD_ONLY and not {KEYWORD_ONLY, VAR_POSITIONAL} & set(
                kinds[:index]
            ):
                words.append("*")
            stars = {VAR_POSITIONAL: "*", VAR_KEYWORD: "**"}.get(each.kind, "")
            optional = "" if each.required or stars else "=…"
            words.append(f"{stars}{each.name}{optional}")
            last_positional = each.kind is POSITIONAL_ONLY and (
                POSITIONAL_ONLY not in kinds[index + 1 :]
            )
            if last_positional:
                words.append("/")
        return f"({', '.join(words)})"


def of_function(node: FunctionNode, place: str) -> Signature:
    """Return the parameters of a function as it is written."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    parameters = [
        Parameter(
            each.arg,
            POSITIONAL_ONLY if index < len(arguments.posonlyargs) else POSITIONAL,
            index < first_default,
        )
        for index, each in enumerate(positional)
    ]
    if arguments.vararg is not None:
        parameters.append(
            Parameter(arguments.vararg.arg, VAR_POSITIONAL, required=False)
        )
    parameters += [
        Parameter(each.arg, KEYWORD_ONLY, default is None)
        for each, default in zip(
            arguments.kwonlyargs, arguments.kw_defaults, strict=True
        )
    ]
    if arguments.kwarg is not None:
        parameters.append(Parameter(arguments.kwarg.arg, VAR_KEYWORD, required=False))
    return Signature(parameters=tuple(parameters), place=place)


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """What a call gives. `open_*`: a star hides how much."""

    positional: int
    keywords: tuple[str, ...]
    open_positional: bool = False
    open_keywords: bool = False
    partial: bool = False
    """Whether more may be given later, as after `functools.partial`."""


def of_call(call: ast.Call, *, skip: int = 0) -> Arguments:
    """Return what a call gives; the first `skip` positional arguments left out."""
    positional, open_positional = 0, False
    for each in call.args[skip:]:
        if not isinstance(each, ast.Starred):
            positional += 1
        elif isinstance(each.value, ast.Tuple | ast.List) and not any(
            isinstance(one, ast.Starred) for one in each.value.elts
        ):
            positional += len(each.value.elts)
        else:
            open_positional = True
    keywords: list[str] = []
    open_keywords = False
    for keyword in call.keywords:
        if keyword.arg is not None:
            keywords.append(keyword.arg)
        elif isinstance(keyword.value, ast.Dict) and all(
            isinstance(key, ast.Constant) and isinstance(key.value, str)
            for key in keyword.value.keys
        ):
            keywords += [ast.literal_eval(key) for key in keyword.value.keys if key]
        else:
            open_keywords = True
    return Arguments(
        positional=positional,
        keywords=tuple(keywords),
        open_positional=open_positional,
        open_keywords=open_keywords,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Misfit:
    """What does not fit, one of the three kinds."""

    unexpected: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    surplus: int = 0
    """How many positional arguments are too many."""

    def __bool__(self) -> bool:
        return bool(self.unexpected or self.missing or self.surplus)


def fit(arguments: Arguments, signature: Signature) -> Misfit:
    """Return what does not fit when the arguments are bound to the signature."""
    parameters = signature.parameters
    by_position = [p for p in parameters if p.kind in (POSITIONAL_ONLY, POSITIONAL)]
    takes_more = any(p.kind is VAR_POSITIONAL for p in parameters)
    takes_any = any(p.kind is VAR_KEYWORD for p in parameters)
    by_name = {p.name for p in parameters if p.kind in (POSITIONAL, KEYWORD_ONLY)}
    filled = {p.name for p in by_position[: arguments.positional]}
    surplus = 0 if takes_more else max(0, arguments.positional - len(by_position))
    unexpected = tuple(
        name
        for name in arguments.keywords
        if (name not in by_name and not takes_any)
        or (name in filled and name in by_name)  # given twice
    )
    if signature.lenient or arguments.open_keywords or arguments.partial:
        return Misfit(unexpected=unexpected, surplus=surplus)
    missing = tuple(
        p.name
        for p in parameters
        if p.required
        and p.name not in filled
        and (p.kind is POSITIONAL_ONLY or p.name not in arguments.keywords)
        and not (arguments.open_positional and p.kind in (POSITIONAL_ONLY, POSITIONAL))
    )
    return Misfit(unexpected=unexpected, missing=missing, surplus=surplus)
