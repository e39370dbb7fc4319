#include "controller/standby/lease_term.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace railgauge::standby {
namespace {

constexpr double kTermLookSeconds = 0.2;
// Without an answer of the archive for this share of the lease, promises are asked for.
constexpr double kPatience = 0.5;

}  // namespace

LeaseTerm::LeaseTerm(LeaseTermOptions options, LeaseEdges edges, mirror::TakenLease lease,
                     double asked_at)
    : options_(std::move(options)),
      edges_(std::move(edges)),
      generation_(lease.generation),
      holder_(options_.times) {
  holder_.granted(asked_at, generation_);
  acts_until_ = holder_.acts_until();
  for (const mirror::SiteController& other : lease.admitted) takers_[other.holder] = other;
  ready_ = std::move(lease.admitted);
}

// Three outcomes of a renewal count: granted, refused, and no answer. Refused ends the lease at
// once. Without an answer the lease holds for as long as it was given; promises are asked for once
// half of it is over, so that a single slow answer costs the other controllers nothing. A holder
// whose host slept asks the archive before it gives up: a row that nobody took is still its own.
Result<double> LeaseTerm::step(bool is_doubted) {
  double now = edges_.now();
  if (!is_doubted && holder_.may_act(now) && holder_.due(now) == mirror::LeaseStep::kWait)
    return kTermLookSeconds;
  const Result<bool> renewed = renew(now);
  if (renewed && !*renewed) return over("another controller has taken the lease");
  now = edges_.now();
  if (!renewed) {
    holder_.unanswered(now);
    const bool is_late = holder_.acts_until() - now < options_.times.seconds * kPatience;
    if (is_late && ask_all()) {
      if (!is_by_promise_.exchange(true))
        spdlog::warn(
            "lease: the archive does not answer ({}); {} other controllers wait by "
            "promise, and this one stays active",
            renewed.error().message, takers_.size());
      holder_.granted(now, generation_);
    }
  } else if (is_by_promise_.exchange(false)) {
    spdlog::info("lease: the archive answers again");
  }
  acts_until_ = holder_.acts_until();
  if (holder_.may_act(edges_.now())) return kTermLookSeconds;
  return over(fmt::format("it could not be renewed in time: {}",
                          renewed ? "the host slept" : renewed.error().message));
}

// The archive's clock decides whether it was in time: a row that nobody took is still ours. The
// list of admitted controllers counts from the moment at which it is sent, since its answer may be
// lost; those of the list before count until an answer came.
Result<bool> LeaseTerm::renew(double now) {
  mirror::LeaseRenewal renewal{.site = options_.site,
                               .controller = options_.self,
                               .generation = generation_,
                               .seconds = options_.times.seconds,
                               .number = ++renewals_};
  for (const mirror::SiteController& other : ready_) {
    renewal.admitted.push_back(other.holder);
    takers_[other.holder] = other;  // from now on, whether the answer arrives or not
  }
  const auto ready = RG_TRY(edges_.renew(renewal));
  if (!ready) return false;
  takers_.clear();
  for (const mirror::SiteController& other : ready_) takers_[other.holder] = other;
  ready_ = *ready;
  ready_count_ = ready_.size();
  holder_.granted(now, generation_);
  return true;
}

// One refusal, or one silent controller, is enough: it could have the lease already. An address
// that is not known cannot be asked. Controllers that were never admitted cannot take the lease, so
// that a site without a ready standby needs no promise.
bool LeaseTerm::ask_all() {
  return std::ranges::all_of(takers_, [this](const auto& taker) {
    const mirror::SiteController& other = taker.second;
    return !other.address.empty() && edges_.ask_promise &&
           edges_.ask_promise(other, generation_, options_.times.seconds);
  });
}

// Others may act from here on: the answer of acts_until() comes first.
Result<double> LeaseTerm::over(const std::string& why) {
  acts_until_ = 0;
  return fail(Code::kAborted, why);
}

}  // namespace railgauge::standby
