"""The errors that are for people.

Each carries one message in one line: what was given, what is allowed, what to do next. The command line prints it and
ends with exit code 2; so it does with a file that cannot be written. Anything else is a fault of the toolkit and keeps
its traceback.
"""


class NmtError(Exception):
    """A mistake that the user can mend; never raised for a fault of the toolkit itself."""


class ConfigError(NmtError):
    """A setting that is unknown, malformed, out of range, or at odds with another one."""


class DataError(NmtError):
    """A text or links file that is missing, empty, malformed, or at odds with its neighbour."""


class CheckpointError(NmtError):
    """A run folder that is missing, foreign, damaged, unfinished, or in the way."""


class TrainingError(NmtError):
    """A training that cannot go on, such as one whose loss is no longer a number."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether something failed for want of memory, the GPU's or the machine's; by names, as torch is not loaded."""
    names = ("MemoryError", "OutOfMemoryError", "_ArrayMemoryError")
    return type(error).__name__ in names or "DefaultCPUAllocator" in str(error)
