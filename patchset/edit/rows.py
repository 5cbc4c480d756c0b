"""What stands in brackets, separated by commas: adding and dropping one of a row.

Arguments, bases, imported names, list elements and subscripts differ in where LibCST
keeps the white space of a row. Here it is a list of gaps: one before the first element
and one after each. A comment at the end of a line belongs to what is before it, one on
its own line to what is below it; both stay when a neighbour comes or goes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, cast

import libcst as cst

Gap: TypeAlias = cst.BaseParenthesizableWhitespace
Holder: TypeAlias = cst.Call | cst.ClassDef | cst.List | cst.Subscript | cst.ImportFrom
Element: TypeAlias = cst.Arg | cst.ImportAlias | cst.BaseElement | cst.SubscriptElement
_Holder = TypeVar("_Holder", bound=Holder)
_NOTHING = cst.SimpleWhitespace("")
_SPACE = cst.SimpleWhitespace(" ")


@dataclass(frozen=True, slots=True)
class Row:
    """The elements of a row, the gaps around them, and whether a comma ends it."""

    elements: tuple[Element, ...]
    gaps: tuple[Gap, ...]
    ends_with_comma: bool

    def add(self, element: Element, *, after: int | None = None) -> Row:
        """One more, last or after the element at that index, set off as they are."""
        if not self.elements:
            return replace(self, elements=(element,), gaps=(_NOTHING, *self.gaps))
        last = len(self.elements) - 1
        at = (last if after is None else after) + 1
        gap = self.gaps[at]
        separator = self._separator() if at > last else _bare(gap)
        return replace(
            self,
            elements=(*self.elements[:at], element, *self.elements[at:]),
            gaps=(*self.gaps[:at], *_split(gap, separator), *self.gaps[at + 1 :]),
        )

    def drop(self, index: int) -> Row:
        """One less."""
        is_last = index == len(self.elements) - 1
        gap = _join(self.gaps[index], self.gaps[index + 1], is_last=is_last)
        return replace(
            self,
            elements=(*self.elements[:index], *self.elements[index + 1 :]),
            gaps=(*self.gaps[:index], gap, *self.gaps[index + 2 :]),
        )

    def _separator(self) -> Gap:
        """What stands between two elements: a space, or a line break."""
        if len(self.elements) > 1:
            return _bare(self.gaps[1])
        return _bare(self.gaps[0]) if _breaks(self.gaps[0]) else _SPACE


def row_of(holder: Holder) -> Row:
    """The row that a node holds."""
    elements = _elements(holder)
    if not elements:
        return Row((), (_opening(holder),), ends_with_comma=False)
    *others, last = elements
    between = [cst.ensure_type(one.comma, cst.Comma).whitespace_after for one in others]
    return Row(
        elements,
        (_opening(holder), *between, _closing(holder, last)),
        ends_with_comma=isinstance(last.comma, cst.Comma),
    )


def with_row(holder: _Holder, row: Row) -> _Holder:
    """The node with another row."""
    changes: dict[str, object] = {}
    gaps = list(row.gaps)
    if isinstance(holder, cst.Call):
        changes["whitespace_before_args"] = gaps[0]
    elif brackets := _brackets(holder):
        left, right = brackets
        changes[left] = getattr(holder, left).with_changes(whitespace_after=gaps[0])
        if row.elements and not _goes_on(holder):
            bracket = getattr(holder, right)
            changes[right] = bracket.with_changes(whitespace_before=gaps[-1])
            gaps[-1] = _NOTHING
    last = len(row.elements) - 1
    changes[_ELEMENTS[type(holder)]] = [
        _followed(one, gaps[index + 1], comma=index < last or row.ends_with_comma)
        for index, one in enumerate(row.elements)
    ]
    return cast("_Holder", holder.with_changes(**changes))


def _breaks(gap: Gap) -> bool:
    return isinstance(gap, cst.ParenthesizedWhitespace)


def _bare(gap: Gap) -> Gap:
    """The gap without its comments."""
    if not isinstance(gap, cst.ParenthesizedWhitespace):
        return gap
    return gap.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])


def _split(gap: Gap, separator: Gap) -> tuple[Gap, Gap]:
    """The gaps before and after something new in `gap`."""
    if not isinstance(gap, cst.ParenthesizedWhitespace) or not isinstance(
        separator, cst.ParenthesizedWhitespace
    ):
        return separator, gap
    before = separator.with_changes(first_line=gap.first_line)
    return before, gap.with_changes(first_line=cst.TrailingWhitespace())


def _join(before: Gap, after: Gap, *, is_last: bool) -> Gap:
    """The gap that is left where what stood between two gaps is gone."""
    if isinstance(after, cst.ParenthesizedWhitespace):
        if not isinstance(before, cst.ParenthesizedWhitespace):
            return after
        lines = [*before.empty_lines, *after.empty_lines]
        return before.with_changes(empty_lines=lines, last_line=after.last_line)
    return after if is_last and not _has_comment(before) else before


def _has_comment(gap: Gap) -> bool:
    return isinstance(gap, cst.ParenthesizedWhitespace) and (
        gap.first_line.comment is not None or bool(gap.empty_lines)
    )


_ELEMENTS: dict[type[cst.CSTNode], str] = {
    cst.Call: "args",
    cst.ClassDef: "bases",
    cst.List: "elements",
    cst.Subscript: "slice",
    cst.ImportFrom: "names",
}


def _elements(holder: Holder) -> tuple[Element, ...]:
    return tuple(getattr(holder, _ELEMENTS[type(holder)]))


def _brackets(holder: Holder) -> tuple[str, str] | None:
    """The attributes that hold the brackets; calls have none, others need none."""
    if isinstance(holder, cst.List | cst.Subscript):
        return "lbracket", "rbracket"
    if isinstance(holder, cst.ClassDef | cst.ImportFrom) and (
        isinstance(holder.lpar, cst.LeftParen)
    ):
        return "lpar", "rpar"
    return None


def _goes_on(holder: Holder) -> bool:
    """Whether the bracket closes more than the row: keywords follow a class's bases."""
    return isinstance(holder, cst.ClassDef) and bool(holder.keywords)


def _opening(holder: Holder) -> Gap:
    if isinstance(holder, cst.Call):
        return holder.whitespace_before_args
    brackets = _brackets(holder)
    return getattr(holder, brackets[0]).whitespace_after if brackets else _NOTHING


def _closing(holder: Holder, last: Element) -> Gap:
    """Before the closing bracket: LibCST has three places for it, and uses one."""
    places = [last.comma.whitespace_after] if isinstance(last.comma, cst.Comma) else []
    if isinstance(last, cst.Arg):
        places.append(last.whitespace_after_arg)
    if (brackets := _brackets(holder)) and not _goes_on(holder):
        places.append(getattr(holder, brackets[1]).whitespace_before)
    return next((gap for gap in places if not gap.empty), _NOTHING)


def _followed(element: Element, gap: Gap, *, comma: bool) -> Element:
    changes: dict[str, object] = {"comma": cst.MaybeSentinel.DEFAULT}
    if comma:
        old = element.comma if isinstance(element.comma, cst.Comma) else cst.Comma()
        changes["comma"] = old.with_changes(whitespace_after=gap)
    if isinstance(element, cst.Arg):
        changes["whitespace_after_arg"] = _NOTHING if comma else gap
    return element.with_changes(**changes)
