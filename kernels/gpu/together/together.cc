// The steps of ranks that use one resource together, over the task's own rendezvous.
#include "kernels/gpu/together/together.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/group/tcp.h"
#include "kernels/gpu/together/together.pb.h"

namespace railgauge::gpu {
namespace {

// The numbers travel, so they never change.
constexpr std::uint32_t kSampleOrder = 1;
constexpr std::uint32_t kReadyOrder = 2;
constexpr std::uint32_t kEndOrder = 3;
// From rank 0's order until the ranks of one host begin: long enough for all of them to have it and
// to queue their work.
constexpr double kLeadNs = 3e6;

// Names a GPU alike in all processes: the number that CUDA counts may differ between them.
std::string name_of(const Gpu& gpu) { return gpu.uuid().empty() ? gpu.pci_address() : gpu.uuid(); }

}  // namespace

// The exchange is also where a rank that could not open its GPU is named to the others.
Status Together::meet(const Status& mine, const Gpu* gpu) {
  TogetherStep told;
  told.set_host(host_name());
  if (gpu != nullptr) told.set_gpu(name_of(*gpu));
  const auto met = RG_TRY(agree_on(*group_, mine, told, seconds_left(*context_)));
  std::set<std::pair<std::string, std::string>> gpus;
  for (const TogetherStep& other : met) {
    on_gpus_of_their_own_ = gpus.emplace(other.host(), other.gpu()).second && on_gpus_of_their_own_;
    on_one_host_ = on_one_host_ && other.host() == met.front().host();
    on_one_gpu_ = on_one_gpu_ && on_one_host_ && other.gpu() == met.front().gpu();
  }
  moved_.assign(group_->size(), 0);
  return {};
}

Status Together::agree(const Status& mine) {
  return railgauge::agree<TogetherStep>(*group_, mine, seconds_left(*context_));
}

// Two exchanges: the order, and what came of it. The order is also the barrier from which ranks of
// several hosts count: each counts from when it came to it, which is before the last one came.
Status Together::step(const TogetherParts& parts, std::uint32_t order, std::uint32_t ranks) {
  TogetherStep told;
  told.set_order(order);
  told.set_ranks(ranks);
  if (on_one_host_) told.set_begin_ns(monotonic_now_ns() + kLeadNs);
  const double came_ns = monotonic_now_ns();
  RG_TRY_OK(agree_on(*group_, Status{}, told, seconds_left(*context_)));
  return perform(parts, order, ranks, told.begin_ns(), came_ns);
}

// A rank that takes no part reports no bytes. Those that do report their interval, on one host by
// the clock that all read, else from when they came to the order.
Status Together::perform(const TogetherParts& parts, std::uint32_t order, std::uint32_t ranks,
                         double begin_ns, double came_ns) {
  TogetherStep told;
  Status done;
  if (order == kReadyOrder) {
    done = parts.ready();
    moved_.assign(group_->size(), 0);
  } else if (group_->rank() < ranks) {
    const auto moved = parts.move(begin_ns);
    if (moved) {
      const double origin_ns = on_one_host_ ? 0 : came_ns;
      told.set_bytes(moved->bytes);
      told.set_began_ns(on_one_host_ ? moved->began_ns : 0);
      told.set_ended_ns(moved->ended_ns - origin_ns);
    } else {
      done = tl::unexpected(moved.error());
    }
  }
  const auto all = RG_TRY(agree_on(*group_, done, told, seconds_left(*context_)));
  if (order != kSampleOrder) return {};
  double bytes = 0;
  double began_ns = all.front().began_ns();
  double ended_ns = all.front().ended_ns();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    bytes += all[rank].bytes();
    moved_[rank] += all[rank].bytes();
    began_ns = std::min(began_ns, all[rank].began_ns());
    ended_ns = std::max(ended_ns, all[rank].ended_ns());
  }
  if (!(ended_ns > began_ns))
    return fail(Code::kInternal, "copy together: the ranks' copies took no time");
  rate_ = bytes / ((ended_ns - began_ns) / 1e9);
  return {};
}

Status Together::order(const TogetherParts& parts, std::uint32_t order, std::uint32_t ranks) {
  const Status done = step(parts, order, ranks);
  others_left_ = others_left_ || !done;
  return done;
}

// An error is the group's: the others have left follow() with it.
Result<double> Together::sample(const TogetherParts& parts, std::uint32_t ranks) {
  RG_TRY_OK(order(parts, kSampleOrder, ranks));
  return rate_;
}

Status Together::ready(const TogetherParts& parts) {
  return order(parts, kReadyOrder, group_->size());
}

Status Together::end(const Status& mine) {
  if (others_left_) return mine;
  TogetherStep told;
  told.set_order(kEndOrder);
  RG_TRY_OK(agree_on(*group_, mine, told, seconds_left(*context_)));
  return {};
}

// Without a time to begin an order is performed at once.
Status Together::follow(const TogetherParts& parts) {
  for (;;) {
    const double came_ns = monotonic_now_ns();
    const auto all = RG_TRY(agree_on(*group_, Status{}, TogetherStep{}, seconds_left(*context_)));
    const TogetherStep& order = all.front();
    if (order.order() == kEndOrder) return {};
    RG_TRY_OK(perform(parts, order.order(), order.ranks(), order.begin_ns(), came_ns));
  }
}

std::string Together::shares() const {
  const double all = std::accumulate(moved_.begin(), moved_.end(), 0.0);
  std::string text;
  for (const double bytes : moved_)
    text += fmt::format("{}{:.3f}", text.empty() ? "" : ", ", all > 0 ? bytes / all : 0);
  return text;
}

}  // namespace railgauge::gpu
