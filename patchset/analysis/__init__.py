"""What installed source code says about itself, read and never run.

Everything here is a function from source text to values: it imports nothing of the
packages that it reads, and it runs no code of theirs. The standard library's `ast`
is all it needs, so that it answers before libcst could be imported.
"""

from __future__ import annotations
