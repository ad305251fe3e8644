"""Fast recurrent steps: whole sequences as one node of the graph, with their backward pass written by hand.

A loop of small operations spends its time on graph nodes, on weight gradients that are added up once a step, and on
zero-filled slices. Here the gradients of all steps gather in single products, whatever the backward pass needs from the
gates is computed for all steps at once, and every step writes into buffers that were made before the loop:

    r, z = σ(x_rz + W_rz h + b_rz)        n = tanh(x_n + r ⊙ (W_n h + b_n))        h' = (1 − z) ⊙ n + z ⊙ h

(torch's GRU: the reset gate acts after the product; Cho et al. 2014 have it before.) With δ the gradient at h', the
gradients at the sums inside the gates are δ ⊙ C, where C depends on the forward pass alone:

    C_x = (1 − z)(1 − n²)    C_r = C_x (W_n h + b_n) r (1 − r)    C_z = (h − n) z (1 − z)    C_n = C_x r

C_x belongs to the candidate's input x_n, C_n to its recurrent part W_n h + b_n, C_r and C_z to both parts of their
gates. In the order x, r, z, n the first three are the gradient at the input, the last three that at the recurrent part.

Products run in the precision of autocast, all else in that of the initial state. Shapes: T steps, D directions, B
batch, H width of the state, G = 3 H gates in torch's order r, z, n. First derivatives only.
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


class Gates:
    """What the forward pass of a GRU leaves for its backward pass; `lead` is the shape before the width, [B] or [D, B].

    `states` [T + 1, …, H] in full precision and `narrow` in that of products, `gates` [T, …, 2 H] are r and z,
    `candidates` [T, …, H] are n, `recurrent` [T, …, H] is W_n h + b_n.
    """

    def __init__(self, steps: int, initial: Tensor, dtype: torch.dtype) -> None:
        *lead, width = initial.shape
        self.width = width
        self.states = initial.new_empty(steps + 1, *lead, width)
        self.states[0] = initial
        self.narrow = self.states if dtype == initial.dtype else self.states.to(dtype)
        self.gates = initial.new_empty(steps, *lead, 2 * width)
        self.candidates = initial.new_empty(steps, *lead, width)
        self.recurrent = initial.new_empty(steps, *lead, width)

    def step(self, number: int, inputs: Tensor, products: Tensor, bias_n: Tensor) -> None:
        """h' from `inputs` (with b_ih and the recurrent bias of r and z in them) and `products` W h, both [..., G]."""
        width, gates, candidate = self.width, self.gates[number], self.candidates[number]
        torch.add(inputs[..., : 2 * width], products[..., : 2 * width], out=gates).sigmoid_()
        recurrent = torch.add(products[..., 2 * width :], bias_n, out=self.recurrent[number])
        torch.addcmul(inputs[..., 2 * width :], gates[..., :width], recurrent, out=candidate).tanh_()
        state = torch.lerp(candidate, self.states[number], gates[..., width:], out=self.states[number + 1])
        if self.narrow is not self.states:
            self.narrow[number + 1].copy_(state)

    def tensors(self) -> tuple[Tensor, ...]:
        return self.states, self.narrow, self.gates, self.candidates, self.recurrent


def slopes_of(states: Tensor, gates: Tensor, candidates: Tensor, recurrent: Tensor) -> Tensor:
    """C for all steps at once, [T, ..., 4, H], in the order x, r, z, n."""
    width = candidates.shape[-1]
    reset, update = gates[..., :width], gates[..., width:]
    slopes = candidates.new_empty(*candidates.shape[:-1], 4, width)
    slope_x = torch.mul(1 - update, torch.addcmul(candidates.new_ones(()), candidates, candidates, value=-1))
    slope_n = slope_x * reset
    slopes[..., 0, :] = slope_x
    torch.mul(slope_n * recurrent, 1 - reset, out=slopes[..., 1, :])
    torch.mul(states[:-1] - candidates, update - update * update, out=slopes[..., 2, :])
    slopes[..., 3, :] = slope_n
    return slopes


def with_recurrent_bias(inputs: Tensor, bias: Tensor, exact: torch.dtype) -> Tensor:
    """A copy of the inputs in full precision, with the recurrent bias of r and z, which can be added beforehand."""
    folded = bias.detach().clone()
    folded[..., 2 * bias.shape[-1] // 3 :] = 0.0
    return torch.add(inputs, folded).to(exact)


def input_order(gradients_xrz: Tensor) -> Tensor:
    """From the order x, r, z to torch's r, z, n, along the last axis."""
    width = gradients_xrz.shape[-1] // 3
    return torch.cat([gradients_xrz[..., width:], gradients_xrz[..., :width]], dim=-1)


class _GruSequence(torch.autograd.Function):
    """h_1 … h_T of a GRU, every direction at once."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs_TDBG: Tensor,
        initial_DBH: Tensor,
        weight_DGH: Tensor,
        bias_DG: Tensor,
        dtype: torch.dtype,
        keep: bool,
    ) -> Tensor:
        steps, width, exact = inputs_TDBG.shape[0], initial_DBH.shape[-1], initial_DBH.dtype
        inputs = with_recurrent_bias(inputs_TDBG, bias_DG.unsqueeze(1), exact)
        weight_DHG = weight_DGH.to(dtype).transpose(1, 2)
        bias_n = bias_DG[:, 2 * width :].unsqueeze(1)
        kept = Gates(steps, initial_DBH, dtype)
        for step in range(steps):
            products = torch.bmm(kept.narrow[step], weight_DHG)
            kept.step(step, inputs[step], products, bias_n)
        if keep:
            ctx.save_for_backward(*kept.tensors(), weight_DHG)
            ctx.inputs_dtype = inputs_TDBG.dtype
        return kept.states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TDBH: Tensor) -> tuple[Tensor | None, ...]:
        states, narrow, gates, candidates, recurrent, weight_DHG = ctx.saved_tensors
        dtype, (steps, directions, batch, width) = weight_DHG.dtype, grad_TDBH.shape
        slopes = slopes_of(states, gates, candidates, recurrent)
        weight_DGH = weight_DHG.transpose(1, 2)
        grads = torch.empty(steps, directions, batch, 4 * width, dtype=dtype, device=states.device)
        delta, carry = torch.empty_like(states[0]), torch.zeros_like(states[0])
        for step in reversed(range(steps)):
            torch.add(grad_TDBH[step], carry, out=delta)
            grads[step].view_as(slopes[step]).copy_(delta.unsqueeze(-2) * slopes[step])
            back = torch.bmm(grads[step][..., width:], weight_DGH)
            torch.addcmul(back.to(delta.dtype), delta, gates[step][..., width:], out=carry)
        flat_DNK = grads.transpose(0, 1).reshape(directions, steps * batch, 4 * width)
        before_DNH = narrow[:-1].transpose(0, 1).reshape(directions, steps * batch, width)
        weight_grad = torch.bmm(flat_DNK[..., width:].transpose(1, 2), before_DNH).to(states.dtype)
        bias_grad = flat_DNK[..., width:].sum(dim=1, dtype=states.dtype)
        inputs_grad = input_order(grads[..., : 3 * width]).to(ctx.inputs_dtype)
        return inputs_grad, carry, weight_grad, bias_grad, None, None


def gru_sequence(inputs_TDBG: Tensor, initial_DBH: Tensor, weight_DGH: Tensor, bias_DG: Tensor) -> Tensor:
    """All states [T, D, B, H] of D independent GRUs.

    `inputs_TDBG` is x_t W_ihᵀ + b_ih, computed for all steps beforehand; `weight_DGH` and `bias_DG` are W_hh and b_hh.
    """
    given = (inputs_TDBG, initial_DBH, weight_DGH, bias_DG)
    states: Tensor = apply_function(_GruSequence, given)
    return states


def apply_function(function: type[torch.autograd.Function], given: tuple[Tensor, ...]) -> Any:
    """Call a function with the precision of its products and whether a backward pass may follow, autocast off within.

    Inside a function's forward pass neither can be asked for: gradients are off there, whatever they are outside, and
    autocast would narrow products that are exact, and slower for being narrowed.
    """
    dtype = product_dtype(given[0])
    keep = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given)
    with torch.autocast(given[0].device.type, enabled=False):
        return function.apply(*given, dtype, keep)


def gru_step(inputs_BG: Tensor, hidden_BH: Tensor, weight_GH: Tensor, bias_G: Tensor) -> Tensor:
    """One state [B, H]; the plain form, for loops in which something flows back, and the oracle of the fast ones."""
    width = hidden_BH.shape[-1]
    recurrent_BG = torch.nn.functional.linear(hidden_BH, weight_GH, bias_G).to(hidden_BH.dtype)
    inputs_BG = inputs_BG.to(hidden_BH.dtype)
    reset_update = torch.sigmoid(inputs_BG[:, : 2 * width] + recurrent_BG[:, : 2 * width])
    candidate = torch.tanh(inputs_BG[:, 2 * width :] + reset_update[:, :width] * recurrent_BG[:, 2 * width :])
    return torch.lerp(candidate, hidden_BH, reset_update[:, width:])
