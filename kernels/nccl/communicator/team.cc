// Communicators and the agreement of ranks. Every wait here ends: calls of NCCL by
// Progress::stop(), steps of the group by the time until which they wait.
#include "kernels/nccl/communicator/team.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"

namespace railgauge::nccl {
namespace {

// Between two looks at a call that continues in the background.
constexpr std::chrono::microseconds kNap{100};

// The rank that a group's error is about ("rank 3 is gone"), or `none`.
std::uint32_t rank_in(std::string_view message, std::uint32_t none) {
  constexpr std::string_view kRank = "rank ";
  const std::size_t at = message.find(kRank);
  if (at == std::string_view::npos) return none;
  std::uint32_t rank = none;
  std::from_chars(message.data() + at + kRank.size(), message.data() + message.size(), rank);
  return rank;
}

// The group, and the result of a step for agree_on() without naming the rank with an error of its
// own: a rank is gone, or reported an error.
class ErrorNotingGroup final : public Group {
 public:
  explicit ErrorNotingGroup(Group& group) : group_(group) {}
  [[nodiscard]] std::uint32_t rank() const override { return group_.rank(); }
  [[nodiscard]] std::uint32_t size() const override { return group_.size(); }
  // Both forms pass the payloads on unchanged.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override {
    return overhear(group_.exchange(std::move(mine), timeout_seconds));
  }
  Result<std::vector<std::string>> gather(std::string mine, Loudness loudness,
                                          double timeout_seconds) override {
    return overhear(group_.gather(std::move(mine), loudness, timeout_seconds));
  }
  [[nodiscard]] const Error* error() const { return error_ ? &*error_ : nullptr; }

 private:
  Result<std::vector<std::string>> overhear(Result<std::vector<std::string>> all) {
    if (!all) error_ = all.error();
    for (std::uint32_t other = 0; all && other < all->size() && !error_; ++other)
      if (other != rank()) take((*all)[other], other);
    return all;
  }
  // One that only waited in vain, as this one did, knows no more.
  void take(const std::string& payload, std::uint32_t other) {
    Told told;
    if (!told.ParseFromString(payload) || told.code() == 0) return;
    const auto code = static_cast<Code>(told.code());
    if (code != Code::kAborted && code != Code::kDeadlineExceeded)
      error_ = Error{code, fmt::format("rank {}: {}", other, told.message())};
  }

  Group& group_;
  std::optional<Error> error_;
};

// Codes that a rank also gets when another one is the cause.
bool may_be_anothers(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kInternal ||
         code == Code::kAborted;
}

}  // namespace

void note_release(std::string_view act, nc::Return returned) {
  if (returned == nc::kSuccess || returned == nc::kInProgress) return;
  fmt::print(stderr, "nccl: {}: error {}; the communicator may be gone\n", act, returned);
}

// ncclGetUniqueId opens the listening socket of the first contact, so rank 0 alone calls it.
Result<std::string> make_unique_id() {
  nc::UniqueId id{};
  const Nccl& nccl = loaded_nccl();
  RG_TRY_OK(nccl_status(nccl, nccl.get_unique_id(&id), "NCCL: make the ranks' unique id"));
  return std::string(id.internal, sizeof id.internal);
}

Result<Communicator> Communicator::join(const gpu::Gpu& gpu, const Progress& progress,
                                        std::uint32_t ranks, std::uint32_t rank,
                                        const std::string& unique_id, const Joining& joining) {
  nc::UniqueId id{};
  if (unique_id.size() != sizeof id.internal)
    return fail(Code::kInternal, "rank 0: its unique id has {} bytes, not {}", unique_id.size(),
                sizeof id.internal);
  std::memcpy(id.internal, unique_id.data(), sizeof id.internal);
  nc::Config config = nc::config_for(loaded_nccl().version_code);
  config.blocking = joining.blocking ? 1 : 0;
  config.cta_policy = joining.cta_policy;
  Communicator made;
  made.gpu_ = &gpu;
  made.progress_ = &progress;
  nc::Comm raw = nullptr;
  const nc::Return returned = loaded_nccl().comm_init_rank_config(&raw, static_cast<int>(ranks), id,
                                                                  static_cast<int>(rank), &config);
  const std::string act =
      fmt::format("{}: join {} rank{} as rank {}", gpu.name(), ranks, ranks == 1 ? "" : "s", rank);
  // A handle returned with an error is not ours to end.
  if (returned != nc::kSuccess && returned != nc::kInProgress)
    return tl::unexpected(nccl_status(loaded_nccl(), returned, act).error());
  if (raw == nullptr) return fail(Code::kInternal, act + ": NCCL gave no communicator");
  made.comm_ = Handle<Traits>({.comm = raw});
  RG_TRY_OK(made.done(returned, act));
  return made;
}

namespace {

// A place for a handle that NCCL writes from a thread of its own, 2.28.3 more than once and after
// it said that it is done. It is never freed: a process makes few.
nc::Comm& place_for_handle() {
  static std::mutex mutex;
  static auto* const places = new std::deque<nc::Comm>;
  const std::lock_guard lock(mutex);
  return places->emplace_back(nullptr);
}

}  // namespace

// Without a configuration the new communicator inherits the old one's. Without blocking the handle
// comes after the call, which may say that it is done, and after the parent has nothing under way.
Status Communicator::split(std::uint32_t color, std::uint32_t rank) {
  nc::Comm& given = place_for_handle();
  const std::string act = fmt::format("{}: split the communicator", gpu_->name());
  const nc::Comm old = get();
  const nc::Return returned = loaded_nccl().comm_split(old, static_cast<int>(color),
                                                       static_cast<int>(rank), &given, nullptr);
  Status came = done_of(old, returned, act);
  const auto handle = [&] { return std::atomic_ref(given).load(std::memory_order_acquire); };
  while (came && handle() == nullptr) {
    std::this_thread::sleep_for(kNap);
    came = progress_->stopped() ? progress_->stopped_at(act) : done_of(old, nc::kInProgress, act);
  }
  const nc::Comm made = handle();
  // A handle is ours to end, also where the wait for it was stopped.
  if (made != nullptr) {
    static_cast<void>(comm_.release());
    comm_ = Handle<Traits>({.comm = made, .parent = old});
  }
  RG_TRY_OK(came);
  if (made == nullptr) return fail(Code::kInternal, act + ": NCCL gave no communicator");
  return done_of(made, nc::kInProgress, act);
}

Status Communicator::done(nc::Return returned, std::string_view act) const {
  return done_of(get(), returned, act);
}

// Polls ncclCommGetAsyncError, which is the documented way to await ncclInProgress.
Status Communicator::done_of(nc::Comm comm, nc::Return returned, std::string_view act) const {
  const Nccl& nccl = loaded_nccl();
  while (returned == nc::kInProgress) {
    if (progress_->stopped()) return progress_->stopped_at(act);
    std::this_thread::sleep_for(kNap);
    nc::Return state = nc::kSuccess;
    RG_TRY_OK(nccl_status(nccl, nccl.comm_get_async_error(comm, &state), act, comm));
    returned = state;
  }
  return nccl_status(nccl, returned, act, comm);
}

// NCCL allows this call beside others that are under way on the communicator.
Status Communicator::health() const {
  if (!comm_) return {};
  const Nccl& nccl = loaded_nccl();
  constexpr std::string_view kAct = "NCCL in the background";
  nc::Return state = nc::kSuccess;
  RG_TRY_OK(nccl_status(nccl, nccl.comm_get_async_error(get(), &state), kAct, get()));
  return state == nc::kInProgress ? Status{} : nccl_status(nccl, state, kAct, get());
}

// The one that was split off first: it shares resources with its parent.
Status Communicator::finish() {
  const std::string act = gpu_->name() + ": end the communicator";
  const Family both = comm_.get();
  RG_TRY_OK(done(loaded_nccl().comm_finalize(both.comm), act));
  static_cast<void>(comm_.release());
  comm_ = Handle<Traits>({.comm = both.parent});
  RG_TRY_OK(destroy(both.comm, act));
  if (both.parent == nullptr) return {};
  RG_TRY_OK(done(loaded_nccl().comm_finalize(both.parent), act));
  return destroy(comm_.release().comm, act);
}

// ncclCommFinalize flushed the outstanding work with all ranks; this frees this rank's resources
// without the others. Only what is left of this rank is freed in the background.
Status Communicator::destroy(nc::Comm comm, const std::string& act) {
  const nc::Return returned = loaded_nccl().comm_destroy(comm);
  return returned == nc::kInProgress ? Status{} : nccl_status(loaded_nccl(), returned, act);
}

// Adds the missing ranks with each one's last report, and this rank's place. A rank that waits in
// vain for a lost one has its own error, without the lost rank's name.
Error Team::explain(Error error, const Error* group_error) const {
  if (!may_be_anothers(error.code)) return error;
  if (group_error != nullptr && error.message != group_error->message)
    error.message += "; " + group_error->message;
  const std::string_view blame =
      group_error != nullptr ? std::string_view(group_error->message) : error.message;
  if (const std::uint32_t lost = rank_in(blame, size()); lost < size() && lost != rank())
    error.message +=
        last_steps_[lost].empty()
            ? fmt::format("; rank {} reported no step", lost)
            : fmt::format("; the last step that rank {} reported: {}", lost, last_steps_[lost]);
  error.message += fmt::format(" (this is rank {}, at: {})", rank(), step_);
  return error;
}

// A step of all ranks: success only where all succeeded.
Result<std::vector<Told>> Team::agree(const Status& mine, Told told) {
  told.set_step(step_);
  ErrorNotingGroup group(*group_);
  const double left_seconds = std::max(0.0, (until_monotonic_ns_ - monotonic_now_ns()) / 1e9);
  auto all = agree_on(group, mine, std::move(told), left_seconds, Hear::kFirst);
  if (!all) {
    broken_ = true;
    return tl::unexpected(explain(std::move(all).error(), group.error()));
  }
  // For a rank that stays silent: all reach the same steps, and it reached this one.
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    const std::string& theirs = (*all)[rank].step();
    last_steps_[rank] = theirs.empty() ? step_ : theirs;
  }
  return all;
}

// This rank's part of an order, and the agreement on its result.
Result<std::vector<Told>> Team::carry_out(const Order& order, const Perform& perform) {
  std::vector<double> mine;
  const Status done = perform(order, mine);
  Told told;
  told.mutable_samples_ns()->Assign(mine.begin(), mine.end());
  return agree(done, std::move(told));
}

// Two agreements: the order goes out with the first, its result and the samples come with the
// second.
Result<std::vector<std::vector<double>>> Team::order(const Order& order, const Perform& perform) {
  Told ordered;
  ordered.set_command(static_cast<std::uint32_t>(order.command));
  ordered.set_count(order.count);
  ordered.set_repeat(order.repeat);
  // An error of any rank so far ends the order before it begins.
  RG_TRY_OK(agree({}, ordered));
  const auto all = RG_TRY(carry_out(order, perform));
  std::vector<std::vector<double>> samples;
  for (const Told& one : all)
    samples.emplace_back(one.samples_ns().begin(), one.samples_ns().end());
  // Samples are compared rank by rank, so their numbers must agree.
  for (std::size_t rank = 0; rank < samples.size(); ++rank)
    if (samples[rank].size() != samples[0].size())
      return fail(Code::kInternal, "rank {}: reported {} samples, not {}", rank,
                  samples[rank].size(), samples[0].size());
  return samples;
}

// kEnd releases the others from follow().
Status Team::end_orders(const Status& mine) {
  Told ordered;
  ordered.set_command(static_cast<std::uint32_t>(Command::kEnd));
  RG_TRY_OK(agree(mine, ordered));
  return {};
}

// Each iteration is the counterpart of one order().
Status Team::follow(const Perform& perform) {
  while (true) {
    const auto ordered = RG_TRY(agree({}));
    const Told& first = ordered.front();
    const Order order{.command = static_cast<Command>(first.command()),
                      .count = first.count(),
                      .repeat = first.repeat()};
    if (order.command == Command::kEnd) return {};
    RG_TRY_OK(carry_out(order, perform));
  }
}

}  // namespace railgauge::nccl
