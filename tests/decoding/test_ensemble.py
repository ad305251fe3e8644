"""Ensembles: the mean of probabilities, whatever the members are, and a model with itself is the model."""

import pytest
import torch

from nmt.config.model import ModelSection
from nmt.data.batching import Example
from nmt.decoding.beam import beam_search
from nmt.decoding.ensemble import Ensemble, mean_log_probability
from nmt.decoding.forced import forced_decode
from nmt.decoding.greedy import greedy_search
from nmt.decoding.sample import Sampling, sample_search
from nmt.decoding.search import SearchSettings
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.uniform import seeds

CPU = torch.device("cpu")
SOURCES = [(4,), (5, 6, 4), (9, 10, 11, 4, 5, 6, 8)]
ASKED = SearchSettings(beam=3, length_penalty=1.0, max_length_ratio=1.0, max_length_add=3)
TRANSFORMER = {"type": "transformer", "hidden": 16, "layers": 2, "heads": 2, "feed_forward": 16}


def model_of(seed: int, **changes: object) -> Seq2Seq:
    plain = {"embedding": 16, "encoder": {"hidden": 16}, "decoder": {"hidden": 16}}
    torch.manual_seed(seed)
    section = ModelSection.model_validate({**plain, **changes})
    model = build_model(section, source_vocabulary=12, target_vocabulary=12, shared=True).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0).add_(torch.randn_like(parameter), alpha=0.2)
    return model


def test_a_model_with_itself_is_the_model() -> None:
    model = model_of(1)
    twice = Ensemble([model, model])
    for one, other in zip(
        beam_search(model, SOURCES, ASKED, CPU, wanted=3),
        beam_search(twice, SOURCES, ASKED, CPU, wanted=3),
        strict=True,
    ):
        assert [found.pieces for found in one] == [found.pieces for found in other]
        assert [found.score for found in one] == pytest.approx([found.score for found in other], abs=1e-5)
    assert [one.pieces for one in greedy_search(twice, SOURCES, ASKED, CPU)] == [
        one.pieces for one in greedy_search(model, SOURCES, ASKED, CPU)
    ]
    line_B = seeds(3, torch.arange(3))
    drawn = [sample_search(each, SOURCES, ASKED, CPU, Sampling(), line_B) for each in (model, twice)]
    assert [one.pieces for one in drawn[0]] == [one.pieces for one in drawn[1]]


def test_probabilities_are_the_mean_of_the_members() -> None:
    members = [
        model_of(1),
        model_of(2, attention={"type": "luong"}, decoder={"hidden": 16, "layers": 2}),
        model_of(3, encoder=TRANSFORMER, decoder=TRANSFORMER),
        model_of(4, attention={"type": "none"}),
    ]
    found = beam_search(Ensemble(members), SOURCES, ASKED, CPU, wanted=3)
    for source, several in zip(SOURCES, found, strict=True):
        for one in several:
            pair = [Example(source, one.pieces)]
            passes = [forced_decode(each, pair, batch_size=1, device=CPU)[0].log_probabilities for each in members]
            mean = torch.stack([torch.from_numpy(one) for one in passes]).double().exp().mean(dim=0)
            assert one.log_probability == pytest.approx(float(mean.log().sum()), abs=1e-4)
    alone = beam_search(members[0], SOURCES, ASKED, CPU, wanted=3)
    assert [one.pieces for several in found for one in several] != [one.pieces for several in alone for one in several]


def test_neighbours_change_nothing() -> None:
    ensemble = Ensemble([model_of(1), model_of(3, encoder=TRANSFORMER, decoder=TRANSFORMER)])
    together = beam_search(ensemble, SOURCES, ASKED, CPU)
    for source, (best,) in zip(SOURCES, together, strict=True):
        (alone,) = beam_search(ensemble, [source], ASKED, CPU)[0]
        assert alone.pieces == best.pieces
        assert alone.score == pytest.approx(best.score, abs=1e-4)
    line_B = seeds(5, torch.arange(3))
    drawn = sample_search(ensemble, SOURCES, ASKED, CPU, Sampling(temperature=3.0), line_B)
    for index, (source, one) in enumerate(zip(SOURCES, drawn, strict=True)):
        (alone,) = sample_search(ensemble, [source], ASKED, CPU, Sampling(temperature=3.0), line_B[index : index + 1])
        assert alone.pieces == one.pieces
        assert alone.score == pytest.approx(one.score, abs=1e-4)


def test_the_mean_is_of_probabilities_and_what_is_impossible_to_one_is_not_to_all() -> None:
    scores_MV = torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]).log()
    torch.testing.assert_close(mean_log_probability(scores_MV).exp(), torch.tensor([0.3, 0.35, 0.35]))
