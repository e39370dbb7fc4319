#include "kernels/nccl/team.h"

#include <charconv>

#include <fmt/format.h>

namespace railgauge::nccl {
namespace {

// The rank that a group's error is about ("rank 3 is gone"), or `none`.
std::uint32_t rank_in(std::string_view message, std::uint32_t none) {
  constexpr std::string_view kRank = "rank ";
  const std::size_t at = message.find(kRank);
  if (at == std::string_view::npos) return none;
  std::uint32_t rank = none;
  std::from_chars(message.data() + at + kRank.size(), message.data() + message.size(), rank);
  return rank;
}

}  // namespace

// Adds what the lost rank told last. A rank's own error names its step already.
Status Team::explain(const Error& error) const {
  const bool lost = error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
  if (!lost || group_->size() == 1) return tl::unexpected(error);
  const std::uint32_t rank = rank_in(error.message, group_->size());
  std::string known;
  if (rank < group_->size() && rank != group_->rank()) {
    known = last_steps_[rank].empty()
                ? fmt::format("; rank {} told no step", rank)
                : fmt::format("; the last step that rank {} told: {}", rank, last_steps_[rank]);
  }
  return fail(error.code, fmt::format("{}{} (this is rank {}, at: {})", error.message, known,
                                      group_->rank(), step_));
}

Result<std::vector<Told>> Team::agree(const Status& mine, Told told) {
  told.set_step(step_);
  auto all = agree_on(*group_, mine, std::move(told), seconds_left(*context_));
  if (!all) {
    broken_ = true;
    const Status explained = explain(all.error());
    return tl::unexpected(explained.error());
  }
  for (std::size_t rank = 0; rank < all->size(); ++rank) last_steps_[rank] = (*all)[rank].step();
  return all;
}

Result<std::vector<std::vector<double>>> Team::order(Command command, std::uint64_t count,
                                                     const Perform& perform) {
  Told ordered;
  ordered.set_command(static_cast<std::uint32_t>(command));
  ordered.set_count(count);
  RG_TRY(agree({}, ordered));
  std::vector<double> mine;
  const Status done = perform(command, count, mine);
  Told told;
  told.mutable_samples_ns()->Assign(mine.begin(), mine.end());
  const auto all = RG_TRY(agree(done, std::move(told)));
  std::vector<std::vector<double>> samples;
  for (const Told& one : all)
    samples.emplace_back(one.samples_ns().begin(), one.samples_ns().end());
  for (std::size_t rank = 0; rank < samples.size(); ++rank)
    if (samples[rank].size() != mine.size())
      return fail(Code::kInternal, fmt::format("rank {}: told {} samples, not {}", rank,
                                               samples[rank].size(), mine.size()));
  return samples;
}

Status Team::end_orders(const Status& mine) {
  Told ordered;
  ordered.set_command(static_cast<std::uint32_t>(Command::kEnd));
  RG_TRY(agree(mine, ordered));
  return {};
}

Status Team::follow(const Perform& perform) {
  while (true) {
    const auto ordered = RG_TRY(agree({}));
    const auto command = static_cast<Command>(ordered.front().command());
    if (command == Command::kEnd) return {};
    std::vector<double> mine;
    const Status done = perform(command, ordered.front().count(), mine);
    Told told;
    told.mutable_samples_ns()->Assign(mine.begin(), mine.end());
    RG_TRY(agree(done, std::move(told)));
  }
}

}  // namespace railgauge::nccl
