# ruff: noqa: E501 - a mark stands on the line that it is about
"""One feature of binding a case: what must be found, and what must not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

Row = tuple[str, int, str]
Judge = Callable[[Mapping[str, str], Mapping[str, str]], tuple[list[Row], list[Row]]]

CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {}


def case(
    name: str, library: str | dict[str, str], client: str | dict[str, str]
) -> None:
    assert name not in CASES
    CASES[name] = (
        {"lib/__init__.py": library} if isinstance(library, str) else library,
        {"app/use.py": client} if isinstance(client, str) else client,
    )


case(
    "plain functions",
    """
    def f(a, b, c=1): ...
    def only(a, /, b, *, k): ...
    def open_(a, *args, k=1, **kwargs): ...
    """,
    """
    from lib import f, only, open_
    f(1, 2)
    f(1, b=2, c=3)
    f(1)                     #! missing-argument b
    f(1, 2, 3, 4)            #! too-many-arguments 1 positional argument too many
    f(1, 2, d=3)             #! unexpected-keyword d
    f(1, 2, a=3)             #! unexpected-keyword a
    only(1, 2, k=3)
    only(a=1, b=2, k=3)      #! unexpected-keyword a & missing-argument a
    only(1, 2)               #! missing-argument k
    only(1, 2, 3)            #! missing-argument k & too-many-arguments 1 positional argument too many
    open_(1, 2, 3, x=4)
    open_(k=2)               #! missing-argument a
    args, kwargs = [], {}
    f(*args)
    f(**kwargs)
    f(*args, **kwargs)
    f(**kwargs, d=1)         #! unexpected-keyword d
    f(*(1, 2))
    f(*(1, 2, 3, 4))         #! too-many-arguments 1 positional argument too many
    f(**{"a": 1, "b": 2})
    f(**{"a": 1, "z": 2})    #! unexpected-keyword z & missing-argument b
    """,
)

case(
    "missing names and modules",
    {
        "lib/__init__.py": "from .a import here\n",
        "lib/a.py": "here = there = 1\n",
        "lib/sub/__init__.py": "",
        "lib/sub/mod.py": "x = 1\n",
        "lib/spaces/mod.py": "x = 1\n",
        "lib/native.cpython-312-x86_64-linux-gnu.so": "",
        "lib/stubbed.pyi": "",
    },
    """
    import lib
    import lib.a
    import lib.b                    #! missing-module lib.b
    import lib.sub.mod as m
    from lib import here, a, sub
    from lib import gone            #! missing-name gone
    from lib.a import there
    from lib.a import (             #! missing-name q & missing-name r
        q,
        r,
    )
    from lib.sub import mod, none   #! missing-name none
    from lib.sub.none import x      #! missing-module lib.sub.none
    from lib.a.deep import x        #! missing-module lib.a.deep
    from lib.spaces import mod
    from lib.spaces.mod import x
    from lib.native import whatever
    from lib.stubbed import whatever
    lib.here
    lib.nothere                     #! missing-name nothere
    lib.a.there
    lib.sub.mod.x
    lib.sub.mod.y                   #! missing-name y
    m.y()                           #! missing-name y
    gone(1, 2, 3)
    q.anything.at_all()
    """,
)

case(
    "re-exports, stars and lazies",
    {
        "lib/__init__.py": """
            import typing
            from .one import *
            from .two import *
            from .two import deep as renamed
            TABLE = {"Lazy": ".three:Lazy", "Other": ".three:Nope"}
            if typing.TYPE_CHECKING:
                from .three import Lazy
            else:
                def __getattr__(name):
                    from importlib import import_module
                    if name in TABLE:
                        module, attr = TABLE[name].split(":")
                        return getattr(import_module(module, __package__), attr)
                    else:
                        raise AttributeError(f"no {name}")
            """,
        "lib/one.py": "def f(a): ...\n_private = 1\n",
        "lib/two.py": "__all__ = ['g', '_h']\ndef g(a): ...\ndef _h(a): ...\ndef deep(a): ...\n",
        "lib/three.py": "class Lazy:\n    def __init__(self, a): ...\n",
        "lib/open_.py": "def __getattr__(name):\n    return compute(name)\n",
        "lib/dyn.py": "globals().update(make())\n",
    },
    """
    from lib import f, g, _h, renamed, Lazy, Other
    from lib import _private        #! missing-name _private
    from lib import deep            #! missing-name deep
    from lib import NotLazy         #! missing-name NotLazy
    from lib.open_ import anything
    from lib.dyn import anything
    f(b=1)                          #! unexpected-keyword b & missing-argument a
    renamed()                       #! missing-argument a
    Lazy()                          #! missing-argument a
    """,
)

case(
    "branches in the library: a name is there if any branch binds it",
    """
    import sys
    from typing import TYPE_CHECKING
    if sys.platform == "linux":
        def f(a): ...
        only_here = 1
    else:
        def f(a, b): ...
    try:
        from fast import g
    except ImportError:
        def g(x): ...
    if TYPE_CHECKING:
        from .types import OnlyTypes
    for i in range(3):
        looped = i
    with open("x") as handle:
        inside = 1
    match sys.platform:
        case "linux":
            matched = 1
    a, (b, *c) = 1, (2, 3)
    def set_it():
        global later
        later = 1
    """,
    """
    from lib import f, only_here, g, looped, handle, inside, matched, a, b, c, later
    from lib import OnlyTypes       #! missing-name OnlyTypes
    f(1)
    f(1, 2)
    f(1, 2, 3)                      #! too-many-arguments 2 positional arguments too many
    f(z=1)                          #! unexpected-keyword z & missing-argument a
    g(1)
    g(1, 2, 3, 4)
    """,
)

case(
    "relative imports and name spaces of a deep package",
    {
        "lib/a/__init__.py": "from . import b\nfrom .b import B\nfrom .. import top\n",
        "lib/a/b/__init__.py": "from ...base import Base\nclass B(Base): ...\n",
        "lib/base.py": "class Base:\n    def __init__(self, x): ...\n",
        "lib/__init__.py": "def top(a): ...\n",
    },
    {
        "app/deep/use.py": """
            from lib.a import B, top
            from ..shim import B as Shimmed
            from .. import shim
            B()                     #! missing-argument x
            top()                   #! missing-argument a
            Shimmed()               #! missing-argument x
            shim.B(1, y=2)          #! unexpected-keyword y
            """,
        "app/deep/__init__.py": "",
        "app/shim.py": "from lib.a import B\n",
    },
)

case(
    "classes",
    """
    import abc, enum
    class Base:
        def __init__(self, a, *, k=None): ...
    class Sub(Base):
        pass
    class New:
        def __new__(cls, x): ...
    class Both:
        def __new__(cls, *args, **kwargs): ...
        def __init__(self, x): ...
    class Nothing: ...
    class Colour(enum.Enum):
        RED = 1
    class Meta(type):
        def __call__(cls, *args): ...
    class Odd(metaclass=Meta):
        def __init__(self, x): ...
    class Abstract(metaclass=abc.ABCMeta):
        def __init__(self, x): ...
    class Foreign(other.Thing): ...
    class OwnInit(other.Thing):
        def __init__(self, a): ...
    class Error(ValueError): ...
    class Diamond1(Base):
        pass
    class Diamond2(Base):
        def __init__(self, a, b): super().__init__(a)
    class Diamond(Diamond1, Diamond2): ...
    class Outer:
        class Inner:
            def __init__(self, i): ...
    """,
    """
    from lib import *
    import lib
    from lib import Base, Sub, New, Both, Nothing, Colour, Odd, Abstract, Outer
    from lib import Foreign, OwnInit, Error, Diamond
    Base(1, k=2)
    Base()               #! missing-argument a
    Sub(1, q=2)          #! unexpected-keyword q
    New()                #! missing-argument x
    New(1, 2)            #! too-many-arguments 1 positional argument too many
    Both()               #! missing-argument x
    Nothing()
    Nothing(1)           #! too-many-arguments 1 positional argument too many
    Nothing(a=1)         #! unexpected-keyword a
    Colour(1)
    Colour("a", names=1)
    Odd(1, 2, 3)
    Abstract()           #! missing-argument x
    Foreign(1, 2, 3, z=4)
    OwnInit()            #! missing-argument a
    Error("x", "y")
    Diamond(1)           #! missing-argument b
    Diamond(1, 2)
    Outer.Inner()        #! missing-argument i
    Outer.Inner(i=1)
    """,
)

case(
    "dataclasses",
    """
    import dataclasses
    from dataclasses import dataclass, field, InitVar, KW_ONLY
    import dataclasses as dt
    from typing import ClassVar
    DEFAULT = 3
    @dataclass
    class Plain:
        a: int
        b: int = 1
        c: list = field(default_factory=list)
        d: int = field(init=False)
        e: ClassVar[int] = 3
        f: InitVar[int] = 2
        g = 4
    @dataclass(kw_only=True)
    class Keyword(Plain):
        k: int
        b: int
    @dataclass
    class Marked:
        x: int
        _: KW_ONLY
        y: int
        z: int = field(default=DEFAULT)
    @dt.dataclass(frozen=True)
    class Own:
        a: int
        def __init__(self, other): ...
    @dataclass(init=False)
    class NoInit:
        a: int
    class PlainSub(Plain):
        extra: int
    @dataclass
    class Required:
        i: "InitVar[int]"
        c: "ClassVar[int]" = 1
        j: int = field(metadata={})
        kwo: int = field(kw_only=True)
    """,
    """
    from lib import Plain, Keyword, Marked, Own, NoInit, PlainSub, Required
    Plain(1)
    Plain(1, 2, [], 4)
    Plain()               #! missing-argument a
    Plain(1, d=2)         #! unexpected-keyword d
    Plain(1, e=2)         #! unexpected-keyword e
    Plain(1, f=2)
    Plain(1, g=2)         #! unexpected-keyword g
    Plain(1, 2, 3, 4, 5)  #! too-many-arguments 1 positional argument too many
    Keyword(1, k=2)       #! missing-argument b
    Keyword(1, k=2, b=3)
    Keyword(1, 2, k=2)    #! missing-argument b
    Marked(1)             #! missing-argument y
    Marked(1, 2, y=3)     #! too-many-arguments 1 positional argument too many
    Marked(1, y=2)
    Own(other=1)
    Own(a=1)              #! unexpected-keyword a & missing-argument other
    NoInit()
    NoInit(1)             #! too-many-arguments 1 positional argument too many
    PlainSub(1)
    PlainSub(1, extra=2)  #! unexpected-keyword extra
    Required(1, 2, kwo=3)
    Required(1, 2)        #! missing-argument kwo
    Required()            #! missing-argument i & missing-argument j & missing-argument kwo
    """,
)

case(
    "pydantic dataclasses, behind a decorator of the library too",
    {
        "lib/utils.py": """
            from pydantic import ConfigDict
            from pydantic.dataclasses import dataclass
            from pydantic.fields import Field as PydanticField
            from typing_extensions import dataclass_transform
            @dataclass_transform(field_specifiers=(PydanticField,))
            def config(cls=None, *, config=None, **kwargs):
                merged = ConfigDict(extra="forbid")
                def decorator(cls):
                    return dataclass(cls, config=merged, **kwargs)
                if cls is None:
                    return decorator
                return decorator(cls)
            def checked(cls):
                if not cls.__doc__:
                    raise TypeError
                return cls
            """,
        "lib/__init__.py": """
            from dataclasses import InitVar, field
            from typing import Any, ClassVar
            from pydantic import ConfigDict, Field, model_validator
            from pydantic.dataclasses import dataclass
            from lib.utils import checked, config
            @config
            class A:
                need: InitVar[int]
                limit: ClassVar[int] = 3
                a: int = Field(default=limit, ge=1)
                b: int = Field(3, ge=1)
                c: int = Field(..., ge=1)
                d: int = Field(ge=1)
                e: list = Field(default_factory=list)
                f: int = field(init=False)
            @config(config=ConfigDict(arbitrary_types_allowed=True))
            class B(A):
                x: int = None
            @checked
            @dataclass(config=ConfigDict(arbitrary_types_allowed=True))
            class C:
                x: int
                y: int = 1
            @config
            class Filled:
                x: int
                @model_validator(mode="before")
                @classmethod
                def fill(cls, data): ...
            """,
    },
    """
    from lib import A, B, C, Filled
    A(need=1, c=2, d=3)
    A(need=1, c=2, d=3, f=3)    #! unexpected-keyword f
    A(need=1, c=2)              #! missing-argument d
    A(need=1, d=2)              #! missing-argument c
    A(c=1, d=2)                 #! missing-argument need
    A(need=1, c=2, d=3, q=4)    #! unexpected-keyword q
    B(need=1, c=2, d=3, x=4)
    B(need=1, c=2, d=3, y=4)    #! unexpected-keyword y
    C(1)
    C()                         #! missing-argument x
    C(1, z=2)                   #! unexpected-keyword z
    Filled()
    Filled(y=1)                 #! unexpected-keyword y
    """,
)

case(
    "named tuples and structs",
    """
    from typing import NamedTuple
    import msgspec
    class Point(NamedTuple):
        x: int
        y: int = 0
    class Mixin: ...
    class Params(Mixin, msgspec.Struct, omit_defaults=True):
        n: int = 1
        t: float = 1.0
        stop: list = msgspec.field(default_factory=list)
        name: str | None = None
        def __post_init__(self): ...
    class Need(msgspec.Struct, kw_only=True):
        a: int
    """,
    """
    from lib import Point, Params, Need
    Point(1)
    Point()                 #! missing-argument x
    Point(1, z=2)           #! unexpected-keyword z
    Params(n=2, stop=[])
    Params(2, 1.0)
    Params(top=1)           #! unexpected-keyword top
    Need(a=1)
    Need(1)                 #! too-many-arguments 1 positional argument too many & missing-argument a
    """,
)

case(
    "decorators",
    """
    import functools
    import contextlib
    from typing import overload
    def identity(fn):
        registry.add(fn)
        return fn
    def wrapped(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            return fn(*args, **kwargs)
        return inner
    def factory(name, *, flag=False):
        def deco(fn):
            @functools.wraps(fn)
            async def inner(*args, **kwargs):
                return await fn(*args, **kwargs)
            return inner
        return deco
    def either(fn=None, *, span=""):
        if fn is None:
            return functools.partial(either, span=span)
        if available():
            return backend(fn)
        return fn
    def swallow(fn):
        def inner(first):
            return fn(first, 2)
        return inner
    def renames(fn):
        def inner(*args, **kwargs):
            if "old" in kwargs:
                kwargs["new"] = kwargs.pop("old")
            return fn(*args, **kwargs)
        return inner
    @renames
    def r(new): ...
    @identity
    def a(x): ...
    @wrapped
    def b(x): ...
    @factory("n")
    async def c(x): ...
    @either(span="x")
    def d(x): ...
    @swallow
    def e(x, y): ...
    @functools.lru_cache(maxsize=None)
    def f(x): ...
    @contextlib.contextmanager
    def g(x): ...
    @foreign.decorator
    def h(x): ...
    @overload
    def o(x: int) -> int: ...
    @overload
    def o(x: str, y: int) -> str: ...
    def o(x, y=None): ...
    @foreign.decorator
    class K:
        def __init__(self, x): ...
    @identity
    class L:
        def __init__(self, x): ...
    """,
    """
    from lib import a, b, c, d, e, f, g, h, o, r, K, L, factory
    r(old=1)
    a()                #! missing-argument x
    b(1, 2)            #! too-many-arguments 1 positional argument too many
    c(y=1)             #! unexpected-keyword y & missing-argument x
    d()                #! missing-argument x
    e(1)
    f()                #! missing-argument x
    with g(1, z=2):    #! unexpected-keyword z
        pass
    h(1, 2, 3)
    o(1)
    o("a", y=2)
    o(1, z=2)          #! unexpected-keyword z
    K(1, 2, 3)
    L()                #! missing-argument x
    @factory("n", flg=True)   #! unexpected-keyword flg
    def mine(): ...
    """,
)

case(
    "methods on values of known type",
    """
    import abc
    class Executor(abc.ABC):
        def __init__(self, cfg): self.hook = None
        def run(self, what, *, timeout=None): ...
        @staticmethod
        def stat(a): ...
        @classmethod
        def make(cls, a) -> "Executor": ...
        @property
        def prop(self) -> "Result": ...
        def result(self) -> "Result": ...
        async def later(self) -> "Result": ...
        @classmethod
        def own(cls): ...
    class Multi(Executor):
        def __init__(self, cfg, n=1):
            super().__init__(cfg)
            self.results: list = []
            self.first = Result()
            self.cfg = cfg
            for self.i in range(3): ...
    class Result:
        value: "Value"
        maybe: "Value | None" = None
        def get(self): ...
    class Value:
        def read(self, n): ...
    class Dyn:
        def __getattr__(self, name): ...
    class Sets:
        def __init__(self, **kw):
            for k, v in kw.items():
                setattr(self, k, v)
    def get_executor() -> Multi: ...
    executor = Multi(1)
    """,
    """
    from __future__ import annotations
    from typing import TYPE_CHECKING, Optional
    import lib
    from lib import Multi, Executor, Result, Dyn, Sets, get_executor, executor
    if TYPE_CHECKING:
        from lib import Gone, Value

    class App:
        declared: Multi
        def __init__(self, given: Result, maybe: Optional[Result] = None, odd=None):
            self.executor = Multi(1)
            self.given = given
            self.odd = odd
            self.none = None
            self.pair, self.other = Multi(1), 2

        def go(self):
            self.executor.run(1, timeout=2)
            self.executor.run()               #! missing-argument what
            self.executor.run(1, time=2)      #! unexpected-keyword time
            self.executor.gone(1)             #! missing-method gone
            self.executor.stat(1)
            self.executor.stat()              #! missing-argument a
            self.executor.make()              #! missing-argument a
            self.executor.hook()
            self.executor.results.append(1)
            self.executor.first.get(1)        #! too-many-arguments 1 positional argument too many
            self.executor.first.nope()        #! missing-method nope
            self.executor.i()
            self.executor.prop.get()
            self.executor.prop.nope()         #! missing-method nope
            self.executor.result().value.read()     #! missing-argument n
            self.executor.result().maybe.read()     #! missing-argument n
            self.executor.cfg.anything()
            self.executor.untold
            self.given.get()
            self.given.nope()                 #! missing-method nope
            self.odd.anything()
            self.none.anything()
            self.declared.run()               #! missing-argument what
            self.pair.anything()

        async def wait(self):
            (await self.executor.later()).nope()    #! missing-method nope
            self.executor.later().anything()

        def local(self, value: Value, flag):
            x = Multi(1) if flag else None
            x.run()                           #! missing-argument what
            y = Multi(1)
            y = flag()
            y.anything()
            z = Dyn()
            z.anything()
            s = Sets(a=1)
            s.anything()
            value.read()      # not judged: the code asks what it is
            if isinstance(value, Special):
                value.special()
            while (out := x.result()).get():
                out.nope()                    #! missing-method nope
            [x.anything() for x in flag]

        def local2(self, e: Executor, flag):
            e.only_in_a_subclass()
            g = get_executor()
            g.run()                           #! missing-argument what
            g.nope()                          #! missing-method nope
            executor.nope()                   #! missing-method nope
            lib.executor.run()                #! missing-argument what
            Multi.run(g)                      #! missing-argument what
            Multi.run(g, 1)
            Multi.nope(g)                     #! missing-method nope
            Executor.make(1).whatever()
            copy = self.executor
            copy.run()                        #! missing-argument what
            if hasattr(g, "maybe_new"):
                g.maybe_new()
            two = Multi(1) if flag else Result()
            two.get()
            two.neither()                     #! missing-method neither

        def guarded(self):
            try:
                self.executor.gone()
            except AttributeError:
                self.executor.also_gone()
            try:
                self.executor.run(time=1)
            except TypeError:
                self.executor.run(tim=1)
            try:
                self.executor.run(time=1)     #! unexpected-keyword time & missing-argument what
            except Exception:
                pass
    """,
)

case(
    "subclasses and super",
    """
    import abc
    from dataclasses import dataclass
    class Base(abc.ABC):
        attr: int
        def __init__(self, cfg, role): self._cfg = cfg
        @abc.abstractmethod
        def must(self): ...
        @abc.abstractmethod
        def also(self, a): ...
        def helper(self, a): ...
    class Hook(abc.ABC): ...
    @dataclass
    class Meta:
        a: int = 1
    class Mixin:
        def mixed(self, a): ...
    """,
    """
    from lib import Base, Hook, Meta, Mixin
    import lib
    from dataclasses import dataclass, field
    class Mine(Base, Hook):
        def __init__(self, cfg):
            super().__init__(cfg, role=1, kv=2)    #! unexpected-keyword kv
            self.mine = 1
        def must(self):
            super().must(1)                        #! too-many-arguments 1 positional argument too many
        def also(self, a):
            self.helper()                          #! missing-argument a
            self.gone()                            #! missing-method gone
            self.mine()
            self._cfg.any()
            self.own(1, 2, 3, 4)
            Base.__init__(self, 1)                 #! missing-argument role
        def own(self): ...
    class Lacks(Base):                             #! missing-method also
        def must(self): ...
    class Parent(Base):
        def shared(self): self.must()
    class Child(Parent):
        def must(self): ...
        def also(self, a): ...
    class Odd(lib.Gone):                           #! missing-name Gone
        def f(self):
            super().anything(1)
            self.anything()
    class Foreign(other.Thing, Mixin):
        def f(self):
            self.anything()
            self.mixed()
    @dataclass
    class Ext(Meta):
        b: int = 2
    Ext(c=1)
    Mine(1, 2, 3)
    class Inherits(Mixin):
        pass
    Inherits(1)
    Inherits().mixed()                             #! missing-argument a
    """,
)

case(
    "imports that are expected to fail",
    {
        "lib/__init__.py": "VERSION = '1'\n__version__ = '1'\nnew = 1\n",
        "lib/a.py": "def f(x): ...",
    },
    """
    import contextlib
    import sys
    from typing import TYPE_CHECKING
    import lib
    from packaging.version import Version
    if TYPE_CHECKING:
        from lib import only_for_types
    try:
        from lib import g
    except ImportError:
        from lib.a import f as g
    try:
        from lib import h
    except ImportError:
        from lib import h2 as h           #! missing-name h2
    try:
        from lib.a import f
    except ImportError:
        from lib.z import f
    try:
        import lib.zz
        HAVE = True
    except Exception:
        HAVE = False
    with contextlib.suppress(ImportError):
        from lib import k
    if Version(lib.__version__) >= Version("2"):
        from lib import two
    else:
        from lib.a import f as two
    IS_NEW = hasattr(lib, "shiny")
    if IS_NEW:
        from lib import shiny
    if HAVE:
        lib.zz.call()
    if sys.argv:
        from lib.a import f as either
    else:
        from lib.b import f as either
    g()                                   #! missing-argument x
    h(1, 2)
    def later():
        from lib import local             #! missing-name local
        local()
    def early():
        if Version(lib.__version__) < Version("2"):
            return 1
        from lib import after
        return lib.after2()
    try:
        from lib import u
    except (ValueError, KeyError):
        pass
    """.replace(
        "from lib import u", "from lib import u                 #! missing-name u"
    ),
)

case(
    "partial, lambdas, defaults, decorators and other places of calls",
    """
    def f(a, b=1): ...
    class C:
        def __init__(self, a): ...
        def m(self): ...
    """,
    """
    import functools
    from functools import partial
    from lib import f, C
    partial(f)
    partial(f, 1, c=2)               #! unexpected-keyword c
    functools.partial(C, 1, 2)       #! too-many-arguments 1 positional argument too many
    x = lambda q=f(): f(q, z=1)      #! missing-argument a & unexpected-keyword z
    def d(p=f()): ...                #! missing-argument a
    class K(make(f())):              #! missing-argument a
        field = f()                  #! missing-argument a
        def m(self, f):
            f(1, 2, 3)
    y = [f() for _ in x]             #! missing-argument a
    z = {**f()}                      #! missing-argument a
    print(f"{f()}")                  #! missing-argument a
    assert f(), f(1)                 #! missing-argument a
    def shadow():
        f = print
        f(1, 2, 3)
    def nested():
        def inner():
            return f()               #! missing-argument a
        return inner
    async def co():
        async with f() as q:         #! missing-argument a
            await f()                #! missing-argument a
    def f2():
        for C2 in (C,):
            C2()
    with open(f()) as g: ...         #! missing-argument a
    f(f(f()))                        #! missing-argument a
    raise C()                        #! missing-argument a
    """,
)


case(
    "old supers, generics, instances that are called, enumerations",
    """
    import enum
    from typing import Generic, TypeVar
    T = TypeVar("T")
    class Base:
        def __init__(self, a): ...
    class Box(Generic[T]):
        def __init__(self, item): ...
        def __call__(self, x, *, y=1): ...
    class Status(enum.IntEnum):
        DONE = enum.auto()
        @staticmethod
        def of(name): ...
    """,
    """
    from lib import Base, Box, Status
    class Old(Base):
        def __init__(self):
            super(Old, self).__init__(1, b=2)   #! unexpected-keyword b
    Box[int]()                                  #! missing-argument item
    box = Box[int](1)
    box(1, y=2)
    box()                                       #! missing-argument x
    Status.DONE.value
    Status["DONE"]
    Status.GONE                                 #! missing-name GONE
    Status.of()                                 #! missing-argument name
    Status.__members__
    """,
)

case(
    "an import whose failure is passed on is an import that fails",
    {"lib/__init__.py": "", "lib/a.py": "x = 1\n"},
    """
    try:
        from lib import gone          #! missing-name gone
    except ImportError as error:
        raise RuntimeError("install it") from error
    try:
        from lib import other
    except ImportError:
        other = None
    """,
)

case(
    "what the client gives is there",
    """
    class Thing:
        def m(self): ...
    class Config:
        flag: bool = True
    def get() -> Config: ...
    """,
    """
    from lib import Config, Thing, get
    thing = Thing()
    Thing.added = lambda self: 1
    thing.added()
    setattr(thing, "also", print)
    thing.also()
    thing.never()                     #! missing-method never
    get().flag
    get().unknown_attribute
    get().never()                     #! missing-method never
    """,
)

case(
    "tables of lazies that grow are open",
    {
        "lib/__init__.py": """
            TABLE = {"a": ".x:a"}
            TABLE.update(more())
            def __getattr__(name):
                if name in TABLE:
                    return load(TABLE[name])
                raise AttributeError(name)
            """,
        "lib/envs.py": """
            import os
            if TYPE_CHECKING:
                VAR: bool = False
            table: dict[str, object] = {"VAR": lambda: os.getenv("VAR")}
            def __getattr__(name: str):
                if name in table:
                    return table[name]()
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            """,
    },
    """
    import lib.envs as envs
    from lib import anything
    envs.VAR
    envs.GONE                         #! missing-name GONE
    """,
)


case(
    "names that lead back to themselves",
    {
        "lib/__init__.py": "from .a import A, f\nfrom .b import *\n",
        "lib/a.py": """
            from . import A as Again
            from .b import loop
            class A(A):
                def m(self): ...
            def f(x: "x", y) -> "f": ...
            p = q
            q = p
            """,
        "lib/b.py": "from .a import *\nfrom . import loop\n",
    },
    """
    from lib import A, f
    from lib.a import Again, loop, p
    x = y
    y = x
    class C(C):
        def m(self, given: given):
            self.a = self.b
            self.b = self.a
            self.a.x()
            given.x()
            z = z.z
            z.z()
    f(1)                              #! missing-argument y
    A().m()
    p()
    """,
)


@pytest.mark.parametrize("name", CASES)
def test_finds_what_is_marked_and_nothing_else(name: str, judge: Judge) -> None:
    got, want = judge(*CASES[name])
    assert (sorted(set(got) - set(want)), sorted(set(want) - set(got))) == ([], [])
    assert got == want
