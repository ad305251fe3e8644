"""Fast recurrent steps: whole sequences as one node of the graph, with their backward pass written by hand.

A loop of small operations spends its time on graph nodes, on weight gradients that are added up once a step, and on
zero-filled slices. Here the gradients of all steps gather in single products, and whatever the backward pass needs from
the gates is computed for all steps at once:

    r, z = σ(x_rz + W_rz h + b_rz)        n = tanh(x_n + r ⊙ (W_n h + b_n))        h' = (1 − z) ⊙ n + z ⊙ h

(torch's GRU: the reset gate acts after the product; Cho et al. 2014 have it before.) With δ the gradient at h', the
gradient at the three gates' recurrent parts is δ ⊙ C, where C depends on the forward pass alone:

    C_n = (1 − z)(1 − n²) r        C_z = (h − n) z (1 − z)        C_r = (1 − z)(1 − n²)(W_n h + b_n) r (1 − r)

Products run in the precision of autocast, all else in that of the inputs. Shapes: T steps, D directions, B batch,
H width of the state, G = 3 H gates in torch's order r, z, n; S source, A hidden width of the additive score, V width of
an encoder state. First derivatives only.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

FROZEN = 1e4
"""Added to the update gate's input where a state must stay as it is: σ is then exactly 1, and its slope exactly 0."""


def product_dtype(tensor: Tensor) -> torch.dtype:
    """The precision of matrix products here: autocast's if it is on, else the tensor's own."""
    kind = tensor.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else tensor.dtype


def _gates_forward(inputs: Tensor, recurrent: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One step: (h', r and z side by side, n). `inputs` and `recurrent` [..., G] have their biases in them."""
    width = hidden.shape[-1]
    reset_update = (inputs[..., : 2 * width] + recurrent[..., : 2 * width]).sigmoid_()
    candidate = torch.addcmul(inputs[..., 2 * width :], reset_update[..., :width], recurrent[..., 2 * width :]).tanh_()
    return torch.lerp(candidate, hidden, reset_update[..., width:]), reset_update, candidate


def _slopes(reset_update: Tensor, candidate: Tensor, recurrent_n: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """For all steps at once: C [..., G] of the recurrent part, and (1 − z)(1 − n²) of the candidate's input part."""
    width = candidate.shape[-1]
    reset, update = reset_update[..., :width], reset_update[..., width:]
    slope_n = (1 - update) * (1 - candidate * candidate)
    slope = torch.empty(*candidate.shape[:-1], 3 * width, dtype=candidate.dtype, device=candidate.device)
    torch.mul(slope_n * recurrent_n, reset * (1 - reset), out=slope[..., :width])
    torch.mul(before - candidate, update * (1 - update), out=slope[..., width : 2 * width])
    torch.mul(slope_n, reset, out=slope[..., 2 * width :])
    return slope, slope_n


class _GruSequence(torch.autograd.Function):
    """h_1 … h_T of a GRU, every direction at once."""

    @staticmethod
    def forward(ctx: Any, inputs_TDBG: Tensor, initial_DBH: Tensor, weight_DGH: Tensor, bias_DG: Tensor) -> Tensor:
        steps, directions, batch, _ = inputs_TDBG.shape
        width = initial_DBH.shape[-1]
        dtype = product_dtype(inputs_TDBG)
        inputs_TDBG = inputs_TDBG.to(initial_DBH.dtype)
        weight_DHG = weight_DGH.to(dtype).transpose(1, 2)
        states = initial_DBH.new_empty(steps + 1, directions, batch, width)
        states[0] = initial_DBH
        recurrent_n, gates, candidates = [], [], []
        bias_D1G = bias_DG.unsqueeze(1)
        for step in range(steps):
            recurrent = torch.bmm(states[step].to(dtype), weight_DHG) + bias_D1G
            state, reset_update, candidate = _gates_forward(inputs_TDBG[step], recurrent, states[step])
            states[step + 1] = state
            recurrent_n.append(recurrent[..., 2 * width :])
            gates.append(reset_update)
            candidates.append(candidate)
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(
                states, torch.stack(gates), torch.stack(candidates), torch.stack(recurrent_n), weight_DHG
            )
        return states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TDBH: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        states, gates, candidates, recurrent_n, weight_DHG = ctx.saved_tensors
        dtype = weight_DHG.dtype
        steps, directions, batch, width = grad_TDBH.shape
        slope, slope_n = _slopes(gates, candidates, recurrent_n, states[:-1])
        weight_DGH = weight_DHG.transpose(1, 2)
        states_grad = torch.empty_like(grad_TDBH)
        recurrent_grad = torch.empty(slope.shape, dtype=dtype, device=slope.device)
        carry = torch.zeros_like(states[0])
        for step in reversed(range(steps)):
            delta = torch.add(grad_TDBH[step], carry, out=states_grad[step])
            recurrent_grad[step] = (delta.unsqueeze(-2) * slope[step].unflatten(-1, (3, width))).flatten(-2)
            back = torch.bmm(recurrent_grad[step], weight_DGH)
            carry = torch.addcmul(back.to(delta.dtype), delta, gates[step][..., width:])
        inputs_grad = recurrent_grad.to(states.dtype, copy=True)
        inputs_grad[..., 2 * width :] = states_grad * slope_n
        before_DNH = states[:-1].to(dtype).transpose(0, 1).reshape(directions, steps * batch, width)
        grads_DNG = recurrent_grad.transpose(0, 1).reshape(directions, steps * batch, 3 * width)
        weight_grad = torch.bmm(grads_DNG.transpose(1, 2), before_DNH).to(states.dtype)
        return inputs_grad, carry, weight_grad, grads_DNG.sum(dim=1, dtype=states.dtype)


def gru_sequence(inputs_TDBG: Tensor, initial_DBH: Tensor, weight_DGH: Tensor, bias_DG: Tensor) -> Tensor:
    """All states [T, D, B, H] of D independent GRUs.

    `inputs_TDBG` is x_t W_ihᵀ + b_ih, computed for all steps beforehand; `weight_DGH` and `bias_DG` are W_hh and b_hh.
    """
    states: Tensor = _GruSequence.apply(inputs_TDBG, initial_DBH, weight_DGH, bias_DG)  # type: ignore[no-untyped-call]
    return states


def gru_step(inputs_BG: Tensor, hidden_BH: Tensor, weight_GH: Tensor, bias_G: Tensor) -> Tensor:
    """One state [B, H]; the plain form, for loops in which something flows back, and the oracle of the fast ones."""
    width = hidden_BH.shape[-1]
    recurrent_BG = torch.nn.functional.linear(hidden_BH, weight_GH, bias_G).to(hidden_BH.dtype)
    inputs_BG = inputs_BG.to(hidden_BH.dtype)
    reset_update = torch.sigmoid(inputs_BG[:, : 2 * width] + recurrent_BG[:, : 2 * width])
    candidate = torch.tanh(inputs_BG[:, 2 * width :] + reset_update[:, :width] * recurrent_BG[:, 2 * width :])
    return torch.lerp(candidate, hidden_BH, reset_update[:, width:])


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
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, (batch, width) = inputs_TBG.shape[0], initial_BH.shape
        dtype, exact = product_dtype(inputs_TBG), initial_BH.dtype
        inputs_TBG, keys_BSA, values_BSV = inputs_TBG.to(exact), keys_BSA.to(exact), values_BSV.to(exact)
        joint_HK = torch.cat([weight_GH, query_AH]).to(dtype).t()
        context_VG = context_GV.to(dtype).t()
        lowest = torch.finfo(exact).min
        empty_B1 = ~mask_BS.any(dim=1, keepdim=True)
        penalty_BS = torch.zeros(mask_BS.shape, dtype=exact, device=mask_BS.device).masked_fill_(~mask_BS, lowest)
        states = initial_BH.new_empty(steps + 1, batch, width)
        states[0] = initial_BH
        contexts = values_BSV.new_empty(steps, batch, values_BSV.shape[-1])
        weights = keys_BSA.new_empty(steps, batch, mask_BS.shape[1])
        queries, recurrent_n, gates, candidates = [], [], [], []
        hidden_BSA = torch.empty_like(keys_BSA)
        for step in range(steps):
            joint = (states[step].to(dtype) @ joint_HK).to(exact)
            query = joint[:, 3 * width :]
            torch.add(keys_BSA, query.unsqueeze(1), out=hidden_BSA).tanh_()
            scores = (hidden_BSA.flatten(0, 1) @ energy_A).view_as(penalty_BS).add_(penalty_BS)
            weight = torch.softmax(scores, dim=-1).masked_fill_(empty_B1, 0.0)
            context = torch.bmm(weight.unsqueeze(1), values_BSV).squeeze(1)
            inputs = inputs_TBG[step] + (context.to(dtype) @ context_VG)
            recurrent = joint[:, : 3 * width] + bias_G
            state, reset_update, candidate = _gates_forward(inputs, recurrent, states[step])
            states[step + 1], contexts[step], weights[step] = state, context, weight
            queries.append(query)
            recurrent_n.append(recurrent[:, 2 * width :])
            gates.append(reset_update)
            candidates.append(candidate)
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(
                *(states, contexts, weights, torch.stack(queries), torch.stack(gates), torch.stack(candidates)),
                *(torch.stack(recurrent_n), keys_BSA, values_BSV, energy_A, joint_HK, context_VG),
            )
        ctx.mark_non_differentiable(weights)
        return states[1:], contexts, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (
            states,
            contexts,
            weights,
            queries,
            gates,
            candidates,
            recurrent_n,
            keys,
            values,
            energy,
            joint_HK,
            context_VG,
        ) = ctx.saved_tensors
        grad_states, grad_contexts, _ = grads
        dtype, (steps, batch, width) = joint_HK.dtype, grad_states.shape
        slope, slope_n = _slopes(gates, candidates, recurrent_n, states[:-1])
        joint_grad = torch.empty(steps, batch, joint_HK.shape[1], dtype=dtype, device=keys.device)
        inputs_grad = torch.empty(slope.shape, dtype=dtype, device=keys.device)
        contexts_grad = torch.empty_like(contexts)
        keys_grad, energy_grad = torch.zeros_like(keys), torch.zeros_like(energy)
        hidden = torch.empty_like(keys)
        carry = torch.zeros_like(states[0])
        for step in reversed(range(steps)):
            delta = grad_states[step] + carry
            recurrent = (delta.unsqueeze(1) * slope[step].unflatten(-1, (3, width))).flatten(1)
            joint_grad[step, :, : 3 * width] = recurrent
            inputs_grad[step, :, : 2 * width] = recurrent[:, : 2 * width]
            inputs_grad[step, :, 2 * width :] = delta * slope_n[step]
            context_delta = torch.add(grad_contexts[step], inputs_grad[step] @ context_VG.t(), out=contexts_grad[step])
            weight = weights[step]
            weight_delta = torch.bmm(values, context_delta.unsqueeze(2)).squeeze(2)
            score_delta = weight * (weight_delta - (weight * weight_delta).sum(dim=1, keepdim=True))
            torch.add(keys, queries[step].unsqueeze(1), out=hidden).tanh_()
            energy_grad.addmv_(hidden.flatten(0, 1).t(), score_delta.flatten())
            torch.mul(hidden, hidden, out=hidden).neg_().add_(1.0)
            joint_grad[step, :, 3 * width :] = torch.bmm(score_delta.unsqueeze(1), hidden).squeeze(1).mul_(energy)
            keys_grad.addcmul_(hidden, score_delta.unsqueeze(2))
            back = joint_grad[step] @ joint_HK.t()
            carry = torch.addcmul(back.to(delta.dtype), delta, gates[step][:, width:])
        keys_grad.mul_(energy)
        values_grad = torch.bmm(weights.permute(1, 2, 0), contexts_grad.transpose(0, 1))
        joint_NK, inputs_NG = joint_grad.flatten(0, 1), inputs_grad.flatten(0, 1)
        joint_weight_grad = (joint_NK.t() @ states[:-1].flatten(0, 1).to(dtype)).to(states.dtype)
        context_weight_grad = (inputs_NG.t() @ contexts.flatten(0, 1).to(dtype)).to(states.dtype)
        bias_grad = joint_NK[:, : 3 * width].sum(dim=0, dtype=states.dtype)
        return (
            *(inputs_grad.to(states.dtype), carry, keys_grad, values_grad, None, joint_weight_grad[3 * width :]),
            *(energy_grad, context_weight_grad, joint_weight_grad[: 3 * width], bias_grad),
        )


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
    and `bias_G` W_hh and b_hh. No gradient flows through the returned weights.
    """
    result: tuple[Tensor, Tensor, Tensor] = _AdditiveSequence.apply(  # type: ignore[no-untyped-call]
        inputs_TBG, initial_BH, keys_BSA, values_BSV, mask_BS, query_AH, energy_A, context_GV, weight_GH, bias_G
    )
    return result
