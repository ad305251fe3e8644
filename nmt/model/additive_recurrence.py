"""Bahdanau's recurrence as one node of the graph, with its backward pass written by hand: attend, then step.

Built on `recurrence.py`, whose slopes C and order x, r, z, n are used here. Shapes: T steps, B batch, S source, H width
of the state, G = 3 H gates in torch's order r, z, n; A hidden width of the additive score, V width of an encoder state.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.model.recurrence import Gates, apply_function, input_order, slopes_of, with_recurrent_bias


class _AdditiveSequence(torch.autograd.Function):
    """Bahdanau's recurrence: attend with h_{t−1}, then the GRU step with the context in its input."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs_TBG: Tensor,
        initial_BH: Tensor,
        keys_BSA: Tensor,
        values_BSV: Tensor,
        mask_BS: Tensor,
        query_AH: Tensor,
        energy_A: Tensor,
        context_GV: Tensor,
        weight_GH: Tensor,
        bias_G: Tensor,
        dtype: torch.dtype,
        keep: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, width, exact = inputs_TBG.shape[0], initial_BH.shape[-1], initial_BH.dtype
        inputs = with_recurrent_bias(inputs_TBG, bias_G, exact)
        keys, values = keys_BSA.to(exact), values_BSV.to(exact)
        # One product gives the recurrent part of the gates and the query.
        joint_HK = torch.cat([weight_GH, query_AH]).to(dtype).t()
        context_VG = context_GV.to(dtype).t()
        penalty_BS = _penalty(mask_BS, exact)
        nowhere_B1 = ~mask_BS.any(dim=1, keepdim=True)
        somewhere = not bool(nowhere_B1.any())
        kept = Gates(steps, initial_BH, dtype)
        contexts = values.new_empty(steps, values.shape[0], values.shape[2])
        weights = keys.new_empty(steps, *mask_BS.shape)
        joint = keys.new_empty(steps, keys.shape[0], joint_HK.shape[1])
        hidden = torch.empty_like(keys)
        bias_n = bias_G[2 * width :]
        for step in range(steps):
            joint[step].copy_(kept.narrow[step] @ joint_HK)
            torch.add(keys, joint[step, :, 3 * width :].unsqueeze(1), out=hidden).tanh_()
            scores = (hidden.flatten(0, 1) @ energy_A).view_as(penalty_BS).add_(penalty_BS)
            torch.softmax(scores, dim=-1, out=weights[step])
            if not somewhere:
                weights[step].masked_fill_(nowhere_B1, 0.0)
            torch.bmm(weights[step].unsqueeze(1), values, out=contexts[step].unsqueeze(1))
            inputs[step] += contexts[step].to(dtype) @ context_VG
            kept.step(step, inputs[step], joint[step, :, : 3 * width], bias_n)
        if keep:
            queries = joint[:, :, 3 * width :]
            ctx.save_for_backward(
                *kept.tensors(), contexts, weights, queries, keys, values, energy_A, joint_HK, context_VG
            )
            ctx.dtypes = inputs_TBG.dtype, keys_BSA.dtype, values_BSV.dtype
        ctx.set_materialize_grads(False)  # weights have a gradient only where the loss looks at them
        return kept.states[1:], contexts, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        states, narrow, gates, candidates, recurrent = ctx.saved_tensors[:5]
        contexts, weights, queries, keys, values, energy, joint_HK, context_VG = ctx.saved_tensors[5:]
        grad_states = torch.zeros_like(candidates) if given[0] is None else given[0]
        grad_contexts = torch.zeros_like(contexts) if given[1] is None else given[1]
        grad_weights = given[2]
        dtype, (steps, batch, width) = joint_HK.dtype, grad_states.shape
        slopes = slopes_of(states, gates, candidates, recurrent)
        context_GV = _order_xrz(context_VG.t())
        # In the order x, r, z, n and query: the first three go to the context, the last four to the state before.
        grads = torch.empty(steps, batch, 4 * width + keys.shape[2], dtype=dtype, device=keys.device)
        contexts_grad = torch.empty_like(contexts)
        keys_grad, energy_grad, hidden = torch.zeros_like(keys), torch.zeros_like(energy), torch.empty_like(keys)
        delta, carry, one = torch.empty_like(states[0]), torch.zeros_like(states[0]), keys.new_ones(())
        for step in reversed(range(steps)):
            torch.add(grad_states[step], carry, out=delta)
            grads[step, :, : 4 * width] = (delta.unsqueeze(1) * slopes[step]).flatten(1)
            torch.add(grad_contexts[step], grads[step, :, : 3 * width] @ context_GV, out=contexts_grad[step])
            weights_grad = torch.bmm(values, contexts_grad[step].unsqueeze(2)).squeeze(2)
            if grad_weights is not None:
                weights_grad += grad_weights[step]
            scores_grad = torch._softmax_backward_data(weights_grad, weights[step], 1, weights.dtype)
            torch.add(keys, queries[step].unsqueeze(1), out=hidden).tanh_()
            energy_grad.addmv_(hidden.flatten(0, 1).t(), scores_grad.flatten())
            torch.addcmul(one, hidden, hidden, value=-1, out=hidden)
            grads[step, :, 4 * width :] = torch.bmm(scores_grad.unsqueeze(1), hidden).squeeze(1).mul_(energy)
            keys_grad.addcmul_(hidden, scores_grad.unsqueeze(2))
            back = grads[step, :, width:] @ joint_HK.t()
            torch.addcmul(back.to(delta.dtype), delta, gates[step][:, width:], out=carry)
        values_grad = torch.bmm(weights.permute(1, 2, 0), contexts_grad.transpose(0, 1))
        flat_NK = grads.flatten(0, 1)
        inputs_grad = input_order(grads[..., : 3 * width])
        joint_grad = (flat_NK[:, width:].t() @ narrow[:-1].flatten(0, 1)).to(states.dtype)
        context_grad = (inputs_grad.flatten(0, 1).t() @ contexts.flatten(0, 1).to(dtype)).to(states.dtype)
        bias_grad = flat_NK[:, width : 4 * width].sum(dim=0, dtype=states.dtype)
        of_inputs, of_keys, of_values = ctx.dtypes
        return (
            *(inputs_grad.to(of_inputs), carry, keys_grad.mul_(energy).to(of_keys), values_grad.to(of_values), None),
            *(joint_grad[3 * width :], energy_grad, context_grad, joint_grad[: 3 * width], bias_grad, None, None),
        )


def _penalty(mask_BS: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to scores: 0 on real tokens, the lowest number on padding."""
    zeros_BS = torch.zeros(mask_BS.shape, dtype=dtype, device=mask_BS.device)
    return zeros_BS.masked_fill_(~mask_BS, torch.finfo(dtype).min)


def _order_xrz(rows_rzn: Tensor) -> Tensor:
    """From torch's order r, z, n to x, r, z, along the first axis; x stands for n."""
    width = rows_rzn.shape[0] // 3
    return torch.cat([rows_rzn[2 * width :], rows_rzn[: 2 * width]])


def additive_sequence(
    inputs_TBG: Tensor,
    initial_BH: Tensor,
    *,
    keys_BSA: Tensor,
    values_BSV: Tensor,
    mask_BS: Tensor,
    query_AH: Tensor,
    energy_A: Tensor,
    context_GV: Tensor,
    weight_GH: Tensor,
    bias_G: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """States [T, B, H], contexts [T, B, V] and weights [T, B, S] of Bahdanau's recurrence (arXiv 1409.0473).

        α_t = softmax_s(v · tanh(W h_{t−1} + k_s))    c_t = Σ_s α_ts v_s    h_t = GRU(x_t + C c_t, h_{t−1})

    `inputs_TBG` is the embeddings' part of the gates with b_ih, `query_AH` W, `energy_A` v, `context_GV` C, `weight_GH`
    and `bias_G` W_hh and b_hh.
    """
    attention = (keys_BSA, values_BSV, mask_BS, query_AH, energy_A, context_GV)
    result: tuple[Tensor, Tensor, Tensor] = apply_function(
        _AdditiveSequence, (inputs_TBG, initial_BH, *attention, weight_GH, bias_G)
    )
    return result
