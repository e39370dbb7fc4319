#include "controller/history/merged_matrix.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

constexpr double kSecondsOfDay = 86'400;

bool is_alike(const api::PairMatrix& a, const api::PairMatrix& b) {
  return a.kernel() == b.kernel() && a.metric() == b.metric() && a.meaning() == b.meaning() &&
         a.unit() == b.unit() && a.message_bytes() == b.message_bytes() && a.rail() == b.rail() &&
         a.memory() == b.memory();
}

}  // namespace

MergedMatrix::MergedMatrix(api::PairMatrix newest, double ended_at)
    : matrix_(std::move(newest)), newest_ended_at_(ended_at) {
  for (const std::string& node : matrix_.nodes()) index_.emplace(node, index_.size());
  matrix_.mutable_run_of()->Resize(matrix_.values_size(), 0);
  note_run(matrix_, ended_at);
}

void MergedMatrix::note_run(const api::PairMatrix& from, double ended_at) {
  api::MatrixRun& run = *matrix_.add_runs();
  run.set_run_id(from.run_id());
  run.set_ended_at(rfc3339(ended_at));
  run.set_age_days((newest_ended_at_ - ended_at) / kSecondsOfDay);
}

// The cells move, since a row has a column for each node.
void MergedMatrix::add_nodes(const api::PairMatrix& from) {
  const auto before = static_cast<std::size_t>(matrix_.nodes_size());
  for (int node = 0; node < from.nodes_size(); ++node)
    if (index_.emplace(from.nodes(node), index_.size()).second) {
      matrix_.add_nodes(from.nodes(node));
      matrix_.add_leaves(from.leaves(node));
    }
  const std::size_t count = index_.size();
  if (count == before) return;
  google::protobuf::RepeatedField<float> values;
  google::protobuf::RepeatedField<std::uint32_t> run_of;
  values.Resize(static_cast<int>(count * count), 0);
  run_of.Resize(static_cast<int>(count * count), 0);
  for (std::size_t row = 0; row < before; ++row)
    for (std::size_t column = 0; column < before; ++column) {
      const auto was = static_cast<int>(row * before + column);
      values.Set(static_cast<int>(row * count + column), matrix_.values(was));
      run_of.Set(static_cast<int>(row * count + column), matrix_.run_of(was));
    }
  matrix_.mutable_values()->Swap(&values);
  matrix_.mutable_run_of()->Swap(&run_of);
}

bool MergedMatrix::add(const api::PairMatrix& older, double ended_at) {
  if (!is_alike(matrix_, older)) return false;
  const auto number = static_cast<std::uint32_t>(matrix_.runs_size());
  note_run(older, ended_at);
  add_nodes(older);
  const std::size_t count = index_.size();
  const int size = older.nodes_size();
  std::vector<std::size_t> place;
  for (const std::string& node : older.nodes()) place.push_back(index_.at(node));
  for (int row = 0; row < size; ++row)
    for (int column = 0; column < size; ++column) {
      const float value = older.values(row * size + column);
      const auto cell = static_cast<int>(place[static_cast<std::size_t>(row)] * count +
                                         place[static_cast<std::size_t>(column)]);
      if (value <= 0 || matrix_.values(cell) > 0) continue;
      matrix_.set_values(cell, value);
      matrix_.set_run_of(cell, number);
    }
  matrix_.set_synthetic(matrix_.synthetic() || older.synthetic());
  return true;
}

}  // namespace railgauge
