"""Ctrl-C without loss: an end between two updates instead of in the middle of one."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stop_on_interrupt(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C (or SIGTERM) asks for an end between two updates, so that the state can be saved.

    A second one breaks at once, and what has been learnt since the last validation is lost.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]

    def ask(number: int, frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        say("stopping after this update, and saving; once more: stop at once, without saving")

    for number in numbers:
        signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
