"""Guided alignment (Chen et al. 2016, arXiv 1607.01628): which of a model's maps the training text's links teach."""

from nmt.experiment.run import Run
from nmt.training.update import Guide


def guide_of(run: Run) -> Guide | None:
    """What `training.guided_alignment` says, None where nothing is taught.

    The map is the one that alignments are read from unless it names another: of layers the run's own choice, of heads
    that of `alignment.head` or their mean, of hops the last.
    """
    guided = run.config.training.guided_alignment
    if guided is None:
        return None
    head = run.config.alignment.head if guided.head is None else guided.head
    return Guide(guided.weight, run.alignment_layer(guided.layer), -1 if run.model.decoder.last_map else head)
