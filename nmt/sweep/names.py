"""What axes, choices and runs are called."""

from collections.abc import Mapping, Sequence


def short_names(axes: Sequence[str]) -> dict[str, str]:
    """From each axis to the shortest end of its dotted key that no other axis has: `layers`, or `encoder.layers`."""
    return {axis: _shortest(axis, [other for other in axes if other != axis]) for axis in axes}


def _shortest(axis: str, others: Sequence[str]) -> str:
    parts = axis.split(".")
    ends = (".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1))
    return next((end for end in ends if not any(f".{other}".endswith(f".{end}") for other in others)), axis)


def setting_name(choices: Mapping[str, str]) -> str:
    """A combination: its choices; of variants, whose axis is no key, the label says enough."""
    short = short_names([*choices])
    return ", ".join(f"{short[axis]} {label}" if "." in axis else label for axis, label in choices.items())
