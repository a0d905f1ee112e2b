"""Ctrl-C as a request that the loop sees between compiled calls, instead of an exception."""

from __future__ import annotations

import threading
from signal import SIG_IGN, SIGINT
from types import FrameType, TracebackType
from typing import Any

try:  # what `signal` wraps in enumerations, which take longer than a step of a small fit
    from _signal import getsignal, signal  # type: ignore[import-not-found]
except ImportError:  # not CPython
    from signal import getsignal, signal


class Interrupt:
    """Catch Ctrl-C while work is under way and remember it.

    In the main thread, entering the context replaces the handler of SIGINT; the first Ctrl-C sets
    `requested`, a second one is passed on. Elsewhere, and when a handler cannot be set, it only
    carries the flag, so one object can be shared by the threads of a fit. The context of one object
    may be entered again inside itself. A process that ignores SIGINT goes on ignoring it.

    Attributes
    ----------
    requested : bool
        Whether a stop was requested.
    signalled : bool
        Whether by Ctrl-C: the caller then keeps what was reached and raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.requested = self.signalled = False
        self._previous: Any = None
        self._depth = 0

    def request(self) -> None:
        """Ask to stop."""
        self.requested = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # An enclosing run with its own Interrupt is asked to stop at once.
        around = isinstance(getattr(self._previous, "__self__", None), Interrupt)
        if around or (self.requested and callable(self._previous)):
            self._previous(number, frame)
        self.requested = self.signalled = True

    def __enter__(self) -> Interrupt:
        main = threading.current_thread() is threading.main_thread()
        if main:
            self._depth += 1
            if self._depth == 1 and getsignal(SIGINT) not in (None, SIG_IGN):
                self._previous = signal(SIGINT, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if threading.current_thread() is threading.main_thread():
            self._depth -= 1
            if self._depth == 0 and self._previous is not None:
                signal(SIGINT, self._previous)
                self._previous = None
