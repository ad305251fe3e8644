"""Every setting, its meaning, its range and its default, each written once; rules between fields stand beside them.

A section is one frozen class; the text beneath a field is what `nmt config schema` shows in an editor.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.config.attention import MultiHeadAttention
from nmt.config.model import ModelSection, TransformerSection
from nmt.config.section import FilePath, Positive, Section
from nmt.config.training import TrainingSection


class ParallelFiles(Section):
    """Two text files aligned by line."""

    source: FilePath
    """Text file in the source language, one sentence a line."""
    target: FilePath
    """Its translation, with as many lines."""
    documents: FilePath | None = None
    """Where documents end: a file with the name of each line's document, line by line; null: at blank lines."""


class LinkedFiles(ParallelFiles):
    """Two text files aligned by line and, where known, the links between their words."""

    alignment: FilePath | None = None
    """Word links in Pharaoh format (0-based, `i-j` sure, `ipj` possible), one line for each pair: gold ones of the test
    are what its AER is measured on; those of the validation text, gold or an aligner's, choose alignment.layer."""


LanguageCode = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]


class DataSection(Section):
    """The parallel text."""

    source_language: LanguageCode
    """Code of the source language, such as en."""
    target_language: LanguageCode
    """Code of the target language; it also chooses sacreBLEU's tokenizer (zh: zh; ja, ko, th, lo, km, my: char)."""
    train: ParallelFiles
    """The text to learn from."""
    valid: LinkedFiles | None = None
    """The text that decides which state is the best one; needed unless hold_out is given."""
    test: LinkedFiles | None = None
    """The text that the final scores are measured on; without it and hold_out, training ends with validation."""
    hold_out: Positive | None = None
    """Pairs taken out of the training text at random for validation, and as many for the test, where none is named; the
    same ones whatever the seed, so that runs of several seeds are tested on one text."""
    max_length: Positive = 100
    """Longest sentence of a training pair, in pieces; pairs with a longer side are left out, and counted in the log."""
    document_context: Annotated[int, Field(ge=0)] = 0
    """Sentences before a sentence, of the same document, that count in its translation, by model.context."""

    @model_validator(mode="after")
    def _valid(self) -> "DataSection":
        if self.valid is None and self.hold_out is None:
            raise ValueError("valid is missing: name two files, or set hold_out to a number of training pairs")
        if self.valid is not None and self.test is not None and self.hold_out is not None:
            raise ValueError("hold_out is of no use where valid and test are both given: leave it out")
        if self.hold_out is not None and self.document_context:
            raise ValueError("hold_out takes single sentences out of their documents: name valid and test instead")
        named = [name for name in ("train", "valid", "test") if getattr(getattr(self, name), "documents", None)]
        if named and not self.document_context:
            raise ValueError(f"{named[0]}.documents is of no use without document_context: set that, or leave it out")
        return self


class TokenizerSection(Section):
    """SentencePiece, trained on the training text when `nmt train` starts."""

    type: Literal["bpe", "unigram", "char", "word"] = "bpe"
    """The segmentation model."""
    vocabulary_size: Annotated[int, Field(ge=8)] = 4000
    """Number of pieces, special ones included; what the text cannot support is lowered to what it can, and said."""
    shared: bool = True
    """One vocabulary for both languages (true), or one for each (false)."""
    character_coverage: Annotated[float, Field(gt=0.9, le=1.0)] = 1.0
    """Share of characters that get a piece; the rarest others become unknown. 0.9995 suits Chinese and Japanese."""
    byte_fallback: bool = False
    """A character without a piece becomes its UTF-8 bytes, for which 256 pieces are set aside, and not unknown."""


class DecodingSection(Section):
    """How translations are searched for."""

    beam: Positive = 5
    """Hypotheses kept at each step; 1: greedy."""
    beam_groups: Positive = 1
    """Groups that share the beam equally, so that the best few translations differ (Vijayakumar et al. 2016)."""
    diversity_penalty: Annotated[float, Field(ge=0.0, le=100.0)] = 0.5
    """λ of Vijayakumar et al. 2016, in nats: what a piece costs for each time that earlier groups took it at the same
    step; it steers the search and is no part of a score. Of one group no matter."""
    length_penalty: Annotated[float, Field(ge=0.0, le=50.0)] = 1.0
    """α of Wu et al. 2016: log-probability is divided by ((5 + length) / 6)^α."""
    length_normalization: Literal["wu", "plain"] = "wu"
    """What log-probability is divided by: ((5 + length) / 6)^α (wu), or length^α (plain)."""
    coverage_penalty: Annotated[float, Field(ge=0.0)] = 0.0
    """β of Wu et al. 2016: finished translations lose β for each unit of log attention that a source piece lacks."""
    max_length_ratio: Annotated[float, Field(gt=0.0, le=1000.0)] = 1.5
    """A translation has at most ratio × source length + add pieces."""
    max_length_add: Annotated[int, Field(ge=0, le=100_000)] = 10
    """See max_length_ratio."""
    min_length_ratio: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0
    """A translation has at least ratio × source length + add pieces."""
    min_length_add: Annotated[int, Field(ge=0, le=100_000)] = 0
    """See min_length_ratio."""
    no_repeat_ngram: Positive | None = None
    """No so many pieces in a row are written twice in a translation; null: whatever the model likes."""
    batch_size: Positive = 64
    """Sentences translated at once; the result does not depend on it."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the matrix products in decoding and in forced passes."""

    @model_validator(mode="after")
    def _groups(self) -> "DecodingSection":
        if self.beam % self.beam_groups:
            allowed = [str(count) for count in range(1, self.beam + 1) if self.beam % count == 0]
            raise ValueError(
                f"beam_groups: {self.beam_groups} groups do not share a beam of {self.beam} evenly; allowed: "
                f"{', '.join(allowed)}, or another beam"
            )
        return self

    @model_validator(mode="after")
    def _lengths(self) -> "DecodingSection":
        if self.min_length_ratio > self.max_length_ratio:
            raise ValueError(
                f"min_length_ratio: {self.min_length_ratio:g} is above max_length_ratio, {self.max_length_ratio:g}: "
                f"lower it, or raise that"
            )
        return self


class AlignmentSection(Section):
    """How alignments are shown."""

    unit: Literal["word", "character", "piece"] = "word"
    """What rows and columns stand for: words between spaces, characters (Chinese, Japanese), or the model's pieces."""
    examples: Annotated[int, Field(ge=0)] = 8
    """Test sentences whose alignment is drawn at the end of training."""
    layer: Annotated[int, Field(ge=0)] | None = None
    """The layer of a Transformer decoder, from 0, that alignments are read from; null: the one of the best AER on the
    validation text at the end of training, where data.valid.alignment is given, else the last but one."""
    head: Annotated[int, Field(ge=0)] | None = None
    """The head of multi-head attention, from 0, that they are read from; null: the mean of all."""


class Config(Section):
    """A whole experiment."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Its name: the run folder is runs/NAME unless --run says otherwise."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Seed of everything random but data.hold_out."""
    data: DataSection
    """The parallel text."""
    tokenizer: TokenizerSection = TokenizerSection()
    """SentencePiece."""
    model: ModelSection = ModelSection()
    """The encoder-decoder."""
    training: TrainingSection
    """How the model learns."""
    decoding: DecodingSection = DecodingSection()
    """How translations are searched for."""
    alignment: AlignmentSection = AlignmentSection()
    """How alignments are shown."""

    @model_validator(mode="after")
    def _context(self) -> "Config":
        count, context = self.data.document_context, self.model.context
        if count and context is None:
            raise ValueError(
                f"data.document_context: {count} sentences before are of no use without model.context: give "
                f"model.context: {{type: hierarchical}}, or leave it out"
            )
        if context is not None and not count:
            raise ValueError("model.context: needs the sentences before: set data.document_context to their number")
        return self

    @model_validator(mode="after")
    def _coverage(self) -> "Config":
        if self.decoding.coverage_penalty and self.model.attention.type == "none":
            raise ValueError(
                "decoding.coverage_penalty: attention none has no weights that could cover the source: take 0, or "
                "another model.attention"
            )
        return self

    @model_validator(mode="after")
    def _maps(self) -> "Config":
        attention, decoder = self.model.attention, self.model.decoder
        layers = decoder.layers if isinstance(decoder, TransformerSection) else None
        heads = attention.heads if isinstance(attention, MultiHeadAttention) else None
        sections = {"alignment": self.alignment, "training.guided_alignment": self.training.guided_alignment}
        for name, section in sections.items():
            for key, count, owner in (
                ("layer", layers, "model.decoder of type transformer"),
                ("head", heads, "model.attention of type multihead"),
            ):
                given = getattr(section, key, None)
                if given is not None and count is None:
                    raise ValueError(f"{name}.{key}: {given} is for a {owner}, which this is not: leave it out")
                if given is not None and count is not None and given >= count:
                    raise ValueError(f"{name}.{key}: {given} is not there; the {owner} has {count}, counted from 0")
        return self

    @model_validator(mode="after")
    def _guided(self) -> "Config":
        if self.training.guided_alignment is None:
            return self
        attention = self.model.attention
        if attention.type == "none":
            raise ValueError(
                "training.guided_alignment: attention none has no weights to teach: take another model.attention, or "
                "leave it out"
            )
        normalizer = getattr(attention, "normalizer", "softmax")
        if normalizer != "softmax":
            raise ValueError(
                f"training.guided_alignment: needs the logarithm of every weight, and those of {normalizer} are 0 at "
                f"most positions: take model.attention.normalizer softmax, or leave it out"
            )
        return self
