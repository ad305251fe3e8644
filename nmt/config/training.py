"""The training section: how long, how fast and towards what the model learns."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.config.section import FilePath, Positive, Rate, Section

MetricName = Literal["bleu", "chrf", "loss", "perplexity", "accuracy"]
"""The scores of a validation."""


class EarlyStopping(Section):
    """Which validation score chooses the best state, and when to give up."""

    metric: MetricName = "bleu"
    """The validation score that counts; bleu and chrf are of greedy translations."""
    patience: Positive | None = None
    """Validations without a better score before training stops; null: never."""


class PlateauSection(Section):
    """For the schedule plateau."""

    factor: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """What the rate is multiplied by."""
    patience: Annotated[int, Field(ge=0)] = 2
    """Validations without a better score that are borne before that."""


class GuidedAlignmentSection(Section):
    """Links that attention is taught beside the translation (Chen et al. 2016, arXiv 1607.01628)."""

    links: FilePath
    """Sure links (`i-j`) between the words of the training text, in Pharaoh format, 0-based, one line for each pair;
    between its characters where alignment.unit is character."""
    weight: Annotated[float, Field(gt=0.0)] = 0.1
    """What their term, in nats of a target piece, is multiplied by in the loss."""
    head: Annotated[int, Field(ge=0)] | None = None
    """The head of multi-head attention, from 0, that is taught; null: alignment.head, or the mean of all."""
    layer: Annotated[int, Field(ge=0)] | None = None
    """The layer of a Transformer decoder, from 0, that is taught; null: alignment.layer, or the last but one."""


class TrainingSection(Section):
    """How the model learns."""

    max_steps: Positive | None = None
    """Stop after so many updates."""
    max_epochs: Positive | None = None
    """Stop after so many passes over the training text."""
    max_minutes: Annotated[float, Field(gt=0.0)] | None = None
    """Stop after so many minutes of training, validations included; a resumed run counts on. Where it is the limit that
    counts, a schedule that ends with the training follows the clock, and the weights the machine's speed."""
    batch_tokens: Positive = 2048
    """Tokens of the longer side in a batch at most, padding included; sentences of like length share a batch."""
    batch_sentences: Positive | None = None
    """Sentences in a batch at most; null: as many as batch_tokens admits."""
    learning_rate: Annotated[float, Field(gt=0.0)] = 1e-3
    """Adam's highest rate."""
    min_learning_rate: Annotated[float, Field(ge=0.0)] = 0.0
    """The rate that cosine ends at, and at which plateau stops training."""
    schedule: Literal["constant", "inverse_sqrt", "cosine", "plateau"] = "cosine"
    """What the rate does after the warm-up."""
    warmup: Annotated[int, Field(ge=0)] = 300
    """Steps in which the rate rises linearly from 0."""
    plateau: PlateauSection = PlateauSection()
    """For the schedule plateau."""
    betas: Annotated[tuple[Rate, Rate], Field(strict=False)] = (0.9, 0.98)
    """Adam's decay rates of the gradient's mean and square."""
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.0
    """Decoupled weight decay (AdamW); 0: plain Adam."""
    label_smoothing: Rate = 0.1
    """Share of the target distribution spread evenly over the vocabulary (Szegedy et al. 2016)."""
    guided_alignment: GuidedAlignmentSection | None = None
    """Links that attention is taught; null: none, it finds its own."""
    clip: Annotated[float, Field(gt=0.0)] | None = 1.0
    """Largest norm of the gradient of a batch; null: no clipping."""
    validate_every: Positive = 300
    """Steps from one validation to the next."""
    keep_last: Annotated[int, Field(ge=0)] = 3
    """Validations whose weights are kept, the last ones, for `nmt average`; 0: none but the best."""
    log_every: Positive = 50
    """Steps from one log line to the next."""
    early_stopping: EarlyStopping = EarlyStopping()
    """Which validation score chooses the best state, and when to give up."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the matrix products; auto: bfloat16 where the processor or GPU multiplies it natively, else float32."""

    @model_validator(mode="after")
    def _limits(self) -> "TrainingSection":
        if self.max_steps is None and self.max_epochs is None and self.max_minutes is None:
            raise ValueError("no limit is set: give max_steps, max_epochs or max_minutes")
        if self.min_learning_rate and self.schedule not in ("cosine", "plateau"):
            raise ValueError(
                f"min_learning_rate: schedule {self.schedule} has none; take cosine or plateau, or leave it out"
            )
        if self.plateau != PlateauSection() and self.schedule != "plateau":
            raise ValueError(
                f"plateau: schedule {self.schedule} does not look at it; take schedule plateau, or leave it out"
            )
        if self.min_learning_rate >= self.learning_rate:
            raise ValueError(
                f"min_learning_rate {self.min_learning_rate:g} must be below learning_rate {self.learning_rate:g}"
            )
        return self
