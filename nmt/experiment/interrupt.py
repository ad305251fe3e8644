"""Ctrl-C without loss: an end between two updates instead of in the middle of one."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_MOMENTS = 2.0  # seconds


@contextmanager
def stop_on_interrupt(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C (or SIGTERM, or SIGHUP) asks for an end between two updates, so that the state is saved.

    A second one breaks at once, and what has been learnt since the last validation is lost. Who ends a whole job, as
    systemd or SLURM do, signals each process of it, and each of them those that it started: another signal within
    moments of the first is taken for the same wish.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = threading.Event()
    hang_up = getattr(signal, "SIGHUP", None)
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:  # as it is under nohup, and stays
        numbers.append(hang_up)
    before = [signal.getsignal(number) for number in numbers]
    first = (0, 0.0)

    def ask(number: int, frame: object) -> None:
        nonlocal first
        if asked.is_set():
            if number == first[0] or time.monotonic() - first[1] > _MOMENTS:
                raise KeyboardInterrupt
            return
        asked.set()
        first = (number, time.monotonic())
        with suppress(OSError):  # the terminal may be gone, or a pipe's reader
            say("stopping after this update, and saving; once more: stop at once, without saving")

    for number in numbers:
        signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
