"""Signals: the first asks for an end, a second one breaks; those of one stop are one wish."""

import signal
import time

import pytest

from nmt.experiment.interrupt import stop_on_interrupt


def test_two_signals_of_one_stop_are_one_wish() -> None:
    said: list[str] = []
    with stop_on_interrupt(said.append) as interrupted:
        signal.raise_signal(signal.SIGTERM)
        assert interrupted()
        signal.raise_signal(signal.SIGINT)  # what the parent sends, as it was stopped, too
        signal.raise_signal(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert len(said) == 1


def test_a_later_signal_is_a_second_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    with stop_on_interrupt(lambda line: None):
        signal.raise_signal(signal.SIGTERM)
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 5.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_message_that_nobody_can_read_stops_nothing() -> None:
    def gone(line: str) -> None:
        raise BrokenPipeError

    with stop_on_interrupt(gone) as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted()


def test_under_nohup_a_hang_up_is_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_interrupt(lambda line: None) as interrupted:
            signal.raise_signal(signal.SIGHUP)
            assert not interrupted()
    finally:
        signal.signal(signal.SIGHUP, before)
