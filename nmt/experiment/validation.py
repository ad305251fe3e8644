"""What a training asks now and then: how good the model is on the validation text."""

import math
from collections.abc import Callable, Mapping

import torch

from nmt.data.batching import inference_groups, make_batch
from nmt.data.corpus import ParallelText
from nmt.evaluation.bleu import bleu, chrf, tokenizer_for
from nmt.experiment.run import Run
from nmt.experiment.texts import examples_of
from nmt.training.loss import TokenScores, token_scores


def validator(run: Run, text: ParallelText, tell: Callable[[str], None]) -> Callable[[], Mapping[str, float]]:
    """A function that gives loss by forced passes, in float32, and BLEU and chrF of greedy translations."""
    config, language = run.config, run.config.data.target_language
    examples = [example for example in examples_of(config, text, run.source, run.target) if example.target]
    groups = inference_groups(examples, config.decoding.batch_size)

    def validate() -> Mapping[str, float]:
        tell("validating")
        run.model.eval()
        total = TokenScores(0.0, 0, 0)
        with torch.inference_mode():
            for indices in groups:
                batch = make_batch([examples[index] for index in indices]).to(run.device)
                sides = (batch.source_BS, batch.source_mask_BS, batch.previous_BT, batch.context_BKS)
                decoded = run.model(*sides, need_weights=False)
                readout, weight, bias = decoded.readout_BTR, run.model.output, run.model.output_bias
                total += token_scores(readout, batch.target_BT, batch.target_mask_BT, weight, bias)
        loss = total.negative_log_likelihood / total.tokens
        translator = run.translator({"beam": 1, "beam_groups": 1, "coverage_penalty": 0.0})
        texts = [found.texts[0] for found in translator.translate(text.source, before=text.before)]
        return {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),
            "accuracy": total.correct / total.tokens,
            "bleu": bleu(texts, text.target, tokenize=tokenizer_for(language)).value,
            "chrf": chrf(texts, text.target).value,
        }

    return validate
