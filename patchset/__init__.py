"""A source-patch manager for installed Python packages."""

from __future__ import annotations

__version__ = "0.1.0"
