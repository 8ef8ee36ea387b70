// spyre/engine/rnn.cpp — the fused LSTM and GRU cells that PyTorch's recurrent layers call on every accelerator, and
// that have no CPU kernel: written with plain operators, which the device records and fuses.
//
// The workspace holds what the backward pass needs, side by side: the activated gates (LSTM: i f g o; GRU: r z n, the
// hidden state, and the hidden part of n).
#include <ATen/Functions.h>
#include <torch/library.h>

#include <tuple>
#include <vector>

#include "spyre/engine/error_boundary.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

constexpr std::int64_t kGateDimension = 1, kLstmGates = 4, kGruGates = 3, kGruSaved = 5;

/// The pieces that lie side by side in each row.
std::vector<Tensor> pieces(const Tensor& rows, std::int64_t count) {
  const bool whole =
      rows.dim() == 2 && rows.size(kGateDimension) > 0 && rows.size(kGateDimension) % count == 0;
  TORCH_CHECK(whole, "recurrent cell: expected rows of ", count, " gates side by side; got ",
              rows.sizes());
  return rows.chunk(count, kGateDimension);
}

Tensor plus(const Tensor& gates, const MaybeTensor& bias) {
  return bias.has_value() && bias->defined() ? gates + *bias : gates;
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                             const Tensor& cx, const MaybeTensor& input_bias,
                                             const MaybeTensor& hidden_bias) {
  const Tensor sum = plus(input_gates, input_bias) + plus(hidden_gates, hidden_bias);
  const auto gates = pieces(sum, kLstmGates);
  const Tensor in = gates[0].sigmoid(), forget = gates[1].sigmoid(), cell = gates[2].tanh(),
               out = gates[3].sigmoid();
  const Tensor cy = forget * cx + in * cell;
  return {out * cy.tanh(), cy, at::cat({in, forget, cell, out}, kGateDimension)};
}

Tensor or_zeros(const MaybeTensor& gradient, const Tensor& like) {
  return gradient.has_value() && gradient->defined() ? *gradient : at::zeros_like(like);
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const MaybeTensor& grad_hy,
                                                      const MaybeTensor& grad_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& workspace,
                                                      bool has_bias) {
  const auto saved = pieces(workspace, kLstmGates);
  const Tensor &in = saved[0], &forget = saved[1], &cell = saved[2], &out = saved[3];
  const Tensor gh = or_zeros(grad_hy, cx), tanh_cy = cy.tanh();
  const Tensor gc = or_zeros(grad_cy, cx) + gh * out * (1 - tanh_cy * tanh_cy);
  const Tensor grad_gates = at::cat({gc * cell * in * (1 - in), gc * cx * forget * (1 - forget),
                                     gc * in * (1 - cell * cell), gh * tanh_cy * out * (1 - out)},
                                    kGateDimension);
  return {grad_gates, gc * forget, has_bias ? grad_gates.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                    const Tensor& hx, const MaybeTensor& input_bias,
                                    const MaybeTensor& hidden_bias) {
  const auto from_input = pieces(plus(input_gates, input_bias), kGruGates);
  const auto from_hidden = pieces(plus(hidden_gates, hidden_bias), kGruGates);
  const Tensor reset = (from_input[0] + from_hidden[0]).sigmoid();
  const Tensor update = (from_input[1] + from_hidden[1]).sigmoid();
  const Tensor fresh = (from_input[2] + reset * from_hidden[2]).tanh();
  const Tensor hy = fresh + update * (hx - fresh);
  return {hy, at::cat({reset, update, fresh, hx, from_hidden[2]}, kGateDimension)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
  const auto saved = pieces(workspace, kGruSaved);
  const Tensor &reset = saved[0], &update = saved[1], &fresh = saved[2], &hx = saved[3],
               &hidden_part = saved[4];
  const Tensor grad_update = grad_hy * (hx - fresh) * update * (1 - update);
  const Tensor grad_fresh = grad_hy * (1 - update) * (1 - fresh * fresh);
  const Tensor grad_reset = grad_fresh * hidden_part * reset * (1 - reset);
  const Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, kGateDimension);
  const Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, kGateDimension);
  return {grad_input, grad_hidden, grad_hy * update, has_bias ? grad_input.sum(0) : Tensor(),
          has_bias ? grad_hidden.sum(0) : Tensor()};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", guarded<&lstm_cell>);
  m.impl("_thnn_fused_lstm_cell_backward_impl", guarded<&lstm_cell_backward>);
  m.impl("_thnn_fused_gru_cell", guarded<&gru_cell>);
  m.impl("_thnn_fused_gru_cell_backward", guarded<&gru_cell_backward>);
}

}  // namespace spyre::engine
