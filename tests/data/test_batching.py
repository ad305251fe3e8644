"""From pairs to batches: nothing lost, nothing twice, and the same from any position on."""

from collections import Counter
from itertools import islice, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.data import batching
from nmt.data.batching import (
    Batch,
    Example,
    Position,
    TrainingBatches,
    group,
    inference_groups,
    make_batch,
    pad,
    source_batch,
)
from nmt.data.tokenizer import BEGIN, END, PADDING


def example(source: int, target: int, mark: int = 4) -> Example:
    return Example((mark,) * source, (mark,) * target)


def spread(count: int = 57) -> list[Example]:
    """Pairs of many lengths, each with numbers of its own."""
    return [example(1 + number * 7 % 11, 1 + number * 5 % 13, 4 + number) for number in range(count)]


def same(a: Batch, b: Batch) -> bool:
    pairs = zip(vars(a).values(), vars(b).values(), strict=True)
    return all(one is other if one is None else torch.equal(one, other) for one, other in pairs)


lengths_lists = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60)


@given(lengths_lists, st.integers(1, 120), st.none() | st.integers(1, 20), st.integers(0, 3), st.integers(0, 3))
def test_a_pass_has_every_example_once_and_keeps_the_budgets(
    lengths: list[tuple[int, int]], tokens: int, sentences: int | None, seed: int, number: int
) -> None:
    examples = [example(*one) for one in lengths]
    groups = TrainingBatches(examples, tokens=tokens, sentences=sentences, seed=seed).epoch(number)
    assert sorted(index for indices in groups for index in indices) == list(range(len(examples)))
    for indices in groups:
        longest = max(examples[index].length for index in indices)
        assert len(indices) == 1 or len(indices) * longest <= tokens
        assert sentences is None or len(indices) <= sentences


def test_batches_of_a_pass_hold_every_pair_once() -> None:
    examples = spread()
    batches = TrainingBatches(examples, tokens=60, sentences=None, seed=3)
    seen: Counter[Example] = Counter()
    for batch, after, _ in batches.from_position(Position()):
        for source, source_mask, target, target_mask in zip(
            batch.source_BS, batch.source_mask_BS, batch.target_BT, batch.target_mask_BT, strict=True
        ):
            seen[Example(tuple(source[source_mask].tolist()[:-1]), tuple(target[target_mask].tolist()[:-1]))] += 1
        if after.epoch:
            break
    assert seen == Counter(examples)


def test_the_order_depends_on_seed_and_pass_alone() -> None:
    examples = spread()

    def order(seed: int, number: int) -> list[list[int]]:
        return TrainingBatches(examples, tokens=60, sentences=None, seed=seed).epoch(number)

    used = TrainingBatches(examples, tokens=60, sentences=None, seed=1)
    for number in (5, 0, 2):
        used.epoch(number)
    torch.manual_seed(99)
    assert used.epoch(2) == order(1, 2)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)
    # Not only the order of the batches changes: those of one length are shuffled among batches.
    assert {frozenset(indices) for indices in order(1, 0)} != {frozenset(indices) for indices in order(1, 1)}


def test_batches_are_not_in_order_of_length() -> None:
    groups = TrainingBatches(spread(), tokens=40, sentences=None, seed=1).epoch(0)
    longest = [max(spread()[index].length for index in indices) for indices in groups]
    assert longest != sorted(longest)
    assert longest != sorted(longest, reverse=True)


def test_from_any_position_the_row_goes_on_as_if_uninterrupted() -> None:
    batches = TrainingBatches(spread(), tokens=60, sentences=None, seed=4)
    per_epoch = len(batches.epoch(0))
    whole = list(islice(batches.from_position(Position()), 2 * per_epoch + 3))
    assert [after for _, after, _ in whole][per_epoch - 1] == Position(1, 0)
    for start in range(2 * per_epoch):
        position = whole[start][1]
        resumed = TrainingBatches(spread(), tokens=60, sentences=None, seed=4).from_position(position)
        for batch, after, count in whole[start + 1 :]:
            found, found_after, found_count = next(resumed)
            assert same(found, batch)
            assert (found_after, found_count) == (after, count)


def test_every_batch_comes_with_the_number_of_batches_of_its_pass() -> None:
    batches = TrainingBatches(spread(), tokens=60, sentences=5, seed=4)
    for _, after, count in islice(batches.from_position(Position(2, 1)), 4):
        assert count == len(batches.epoch(2))
        assert after.epoch == 2


def test_a_sentence_beyond_the_budget_is_alone() -> None:
    examples = [example(2, 2), example(50, 3), example(2, 2), example(3, 60)]
    groups = TrainingBatches(examples, tokens=12, sentences=None, seed=1).epoch(0)
    assert sorted(map(sorted, groups)) == [[0, 2], [1], [3]]


def test_the_longer_side_and_its_end_count_against_the_budget() -> None:
    assert example(4, 2).length == example(2, 4).length == 5
    assert group([0, 1], [5, 5], tokens=10, sentences=None) == [[0, 1]]
    assert group([0, 1], [5, 5], tokens=9, sentences=None) == [[0], [1]]
    assert group([0, 1, 2], [1, 1, 1], tokens=100, sentences=2) == [[0, 1], [2]]


def test_large_batches_have_a_multiple_of_eight() -> None:
    sizes = [len(indices) for indices in group(range(40), [1] * 40, tokens=23, sentences=None)]
    assert sizes == [16, 16, 8]
    assert [len(indices) for indices in group(range(20), [1] * 20, tokens=7, sentences=None)] == [7, 7, 6]


def test_a_batch_by_hand() -> None:
    batch = make_batch([Example((5, 6), (7,)), Example((8,), (9, 10, 11))])
    assert batch.source_BS.tolist() == [[5, 6, END], [8, END, PADDING]]
    assert batch.source_mask_BS.tolist() == [[True, True, True], [True, True, False]]
    assert batch.previous_BT.tolist() == [[BEGIN, 7, PADDING, PADDING], [BEGIN, 9, 10, 11]]
    assert batch.target_BT.tolist() == [[7, END, PADDING, PADDING], [9, 10, 11, END]]
    assert batch.target_mask_BT.tolist() == [[True, True, False, False], [True] * 4]
    assert {tensor.dtype for tensor in (batch.source_BS, batch.previous_BT, batch.target_BT)} == {torch.int64}


@given(lengths_lists)
def test_what_the_decoder_sees_is_the_target_one_step_late(lengths: list[tuple[int, int]]) -> None:
    examples = [example(*one, mark=4 + number) for number, one in enumerate(lengths)]
    batch = make_batch(examples)
    for row, one in enumerate(examples):
        real = batch.target_mask_BT[row]
        previous, target = batch.previous_BT[row][real].tolist(), batch.target_BT[row][real].tolist()
        assert previous == [BEGIN, *one.target]
        assert target == [*one.target, END]
        assert batch.source_BS[row][batch.source_mask_BS[row]].tolist() == [*one.source, END]
        assert batch.source_BS[row][~batch.source_mask_BS[row]].eq(PADDING).all()
        assert batch.target_BT[row][~real].eq(PADDING).all()
        assert batch.previous_BT[row][~real].eq(PADDING).all()


def test_links_of_a_batch_by_hand() -> None:
    """A row of links in equal parts, none at the ends or on padding; a pair without any stands beside one with some."""
    linked = Example((4, 5, 6), (7, 8), links=((0, 2), ()))
    batch = make_batch([linked, Example((4,), (7, 8, 9))])
    assert batch.links_BTS is not None
    assert batch.links_BTS.shape == (*batch.target_BT.shape, batch.source_BS.shape[1])
    expected_BTS = torch.zeros(2, 4, 4)
    expected_BTS[0, 0, 0] = expected_BTS[0, 0, 2] = 0.5
    assert batch.links_BTS.equal(expected_BTS)
    assert make_batch([Example((4, 5), (7,), links=((),))]).links_BTS is None


def test_a_batch_moves_whole() -> None:
    for batch in (make_batch([example(2, 3)]), make_batch([Example((4, 5), (6,), ((7,),), ((0, 1),))])):
        assert same(batch.to(torch.device("cpu")), batch)


def test_a_source_without_pieces_still_has_its_end() -> None:
    numbers, mask = source_batch([(), (5,)])
    assert numbers.tolist() == [[END, PADDING], [5, END]]
    assert mask.tolist() == [[True, False], [True, True]]


def test_a_piece_that_has_the_number_of_padding_is_real() -> None:
    numbers, mask = pad([[PADDING, 5], [5]])
    assert numbers.tolist() == [[PADDING, 5], [5, PADDING]]
    assert mask.tolist() == [[True, True], [True, False]]


def test_padding_share_by_hand() -> None:
    # One batch: widths 4 + 3 with ends, two rows, 14 places, of which 4 + 2 and 2 + 3 are taken.
    examples = [example(3, 1), example(1, 2)]
    assert TrainingBatches(examples, tokens=100, sentences=None, seed=1).padding_share() == pytest.approx(3 / 14)
    # Each alone: nothing is padded.
    assert TrainingBatches(examples, tokens=100, sentences=1, seed=1).padding_share() == 0.0


def test_sentences_of_like_length_share_a_batch() -> None:
    examples = [example(length, length) for length in (2, 20) * 20]
    batches = TrainingBatches(examples, tokens=80, sentences=None, seed=1)
    assert batches.padding_share() == pytest.approx(0.0, abs=0.25)
    mixed = [len({examples[index].length for index in indices}) > 1 for indices in batches.epoch(0)]
    assert sum(mixed) <= 1


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 9))
def test_groups_for_inference_cover_all_longest_first(lengths: list[int], batch_size: int) -> None:
    groups = inference_groups([example(length, 0) for length in lengths], batch_size)
    flat = [index for indices in groups for index in indices]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[index] for index in flat] == sorted(lengths, reverse=True)
    assert all(len(indices) <= batch_size for indices in groups)
    assert len(groups) == -(-len(lengths) // batch_size)


def test_long_sentences_share_less_of_a_batch() -> None:
    """Memory follows positions, not sentences."""
    groups = inference_groups([example(2999, 5)] * 5 + [example(9, 9)] * 20, 20)
    assert [len(indices) for indices in groups] == [2, 2, 2, 19]
    assert inference_groups([example(100_000, 0)], 64) == [[0]]


def positions(examples: list[Example]) -> int:
    """All that a batch of these has of the longer side and of the sentences before, padding included."""
    batch = make_batch(examples)
    before = 0 if batch.context_BKS is None else batch.context_BKS.numel()
    return max(batch.source_BS.numel(), batch.target_BT.numel()) + before


documents = st.lists(
    st.tuples(st.integers(0, 12), st.lists(st.integers(1, 12), max_size=3)).map(
        lambda sizes: Example((4,) * sizes[0], (), tuple((4,) * size for size in sizes[1]))
    ),
    max_size=20,
)


@given(documents, st.integers(1, 9), st.integers(1, 150))
def test_the_sentences_before_count_in_a_batch_for_inference(
    examples: list[Example], batch_size: int, tokens: int
) -> None:
    """No batch of several is above the budget, and none could have taken the next one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "INFERENCE_TOKENS", tokens)
        groups = inference_groups(examples, batch_size)
    assert sorted(index for indices in groups for index in indices) == list(range(len(examples)))
    for indices, after in pairwise([*groups, []]):
        assert len(indices) <= batch_size
        assert len(indices) == 1 or positions([examples[index] for index in indices]) <= tokens
        if after and len(indices) < batch_size:
            assert positions([examples[index] for index in [*indices, after[0]]]) > tokens
