// Ranks of one host over socket pairs: rank 0 collects each step's payloads and sends all of them
// back.
#include "kernels/runner/local_ranks.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/group/framing.h"
#include "kernels/core/group/tcp.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

constexpr double kReapSeconds = 1;  // between a socket's end and its process's
// A rank waits this much longer than rank 0, whose error names the missing rank.
constexpr double kHearSeconds = 1;

// On CLOCK_MONOTONIC, in ns.
double deadline_after(double seconds) { return monotonic_now_ns() + seconds * 1e9; }
double left_seconds(double deadline_ns) {
  return std::max(0.0, (deadline_ns - monotonic_now_ns()) / 1e9);
}

// One end of a socket pair.
FrameStream stream_of(int socket) { return {Fd(socket), TcpAddress{}}; }

// Returns a step that has arrived, without waiting; absent while it is incomplete. An error at the
// stream's end, which the caller attributes to a rank.
Result<std::optional<GroupStep>> next_step(FrameStream& link) {
  const auto whole = RG_TRY(link.poll_frame(kMaxFrameBytes));
  if (!whole) return std::optional<GroupStep>();
  GroupStep step;
  if (!step.ParseFromString(*whole)) return link.closed();
  return std::optional(std::move(step));
}

// The group of a forked rank, which exchanges with rank 0 only.
class Forked final : public Group {
 public:
  Forked(std::uint32_t rank, std::uint32_t size, FrameStream link)
      : rank_(rank), size_(size), link_(std::move(link)) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override {
    const double deadline_ns = deadline_after(timeout_seconds + kHearSeconds);
    GroupStep step;
    step.add_payloads(std::move(mine));
    if (!link_.send(step, deadline_ns)) return ended();
    for (;;) {
      const auto all = next_step(link_);
      if (!all) return ended();
      // One payload alone is rank 0's error, since a step has at least two ranks' payloads.
      if (*all && (*all)->payloads_size() == 1)
        return tl::unexpected(error_in((*all)->payloads(0)).value_or(ended().value()));
      if (*all)
        return std::vector<std::string>((*all)->payloads().begin(), (*all)->payloads().end());
      if (monotonic_now_ns() >= deadline_ns)
        return fail(Code::kDeadlineExceeded, "rank 0: did not hand round this step in time");
      pollfd wait{link_.fd(), POLLIN, 0};
      ::poll(&wait, 1, poll_timeout_ms(deadline_ns));
    }
  }

 private:
  // Rank 0 closed its end without a reason.
  static tl::unexpected<Error> ended() {
    return fail(Code::kUnavailable, "rank 0: has ended the group");
  }

  const std::uint32_t rank_;
  const std::uint32_t size_;
  FrameStream link_;
};

// Rank 0's view of one other rank.
struct Other {
  pid_t process = -1;  // -1: reaped
  FrameStream link;
};

// Rank 0.
class Parent final : public Group {
 public:
  explicit Parent(std::uint32_t size) : size_(size) {}
  // Shuts the sockets down, which ends the others' waits; kills ranks that do not end in time.
  ~Parent() override {
    open_ = false;
    for (Other& other : others_) ::shutdown(other.link.fd(), SHUT_RDWR);
    const double deadline_ns = deadline_after(kEndSeconds);
    for (const Other& other : others_) {
      if (other.process < 0 || wait_for_end(other.process, left_seconds(deadline_ns))) continue;
      ::kill(other.process, SIGKILL);
      wait_for_end(other.process, kEndSeconds);
    }
  }

  // Forks one rank. The child closes the links of earlier ranks, which it would keep open.
  Status fork_next(const RankBody& body) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
      return fail(Code::kUnavailable, "socketpair: {}", std::strerror(errno));
    FrameStream mine = stream_of(ends[0]);
    FrameStream theirs = stream_of(ends[1]);
    const auto rank = static_cast<std::uint32_t>(others_.size() + 1);
    const pid_t child = RG_TRY(fork_process(fmt::format("railgauge-runner: rank {}", rank), [&] {
      ::close(mine.fd());
      for (const Other& other : others_) ::close(other.link.fd());
      Forked group(rank, size_, std::move(theirs));
      return body(group);
    }));
    others_.push_back({child, std::move(mine)});
    return {};
  }

  [[nodiscard]] std::uint32_t rank() const override { return 0; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  // Sends an error to the others and shuts the sockets down.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override {
    if (!open_) return fail(Code::kUnavailable, "the group ended with an earlier error");
    auto all = step(std::move(mine), deadline_after(timeout_seconds));
    open_ = all.has_value();
    if (!all) end_with(all.error());
    return all;
  }

 private:
  // Names the rank, and how its process ended where it can be reaped.
  tl::unexpected<Error> lost(std::size_t index) {
    Other& other = others_[index];
    const auto status = wait_for_end(other.process, kReapSeconds);
    if (status) other.process = -1;
    return fail(Code::kUnavailable, "rank {}: gone; {}", index + 1,
                status ? "its process " + words_of_end(*status) : "it has closed its end");
  }

  // One payload alone is an error to the others (see Forked::exchange).
  void end_with(const Error& error) {
    GroupStep last;
    last.add_payloads(error_text(error));
    for (Other& other : others_) {
      static_cast<void>(
          other.link.send(last, monotonic_now_ns()));  // a rank that does not read gets no reason
      ::shutdown(other.link.fd(), SHUT_RDWR);
    }
  }

  // Waits for one payload of each rank. The first rank that is missing at the deadline is named.
  Result<std::vector<std::string>> step(std::string mine, double deadline_ns) {
    std::vector<std::optional<std::string>> got(others_.size());
    for (;;) {
      std::vector<pollfd> waits;  // links of ranks without a payload so far
      for (std::size_t i = 0; i < others_.size(); ++i) {
        if (got[i]) continue;
        auto said = next_step(others_[i].link);
        if (!said || (*said && (*said)->payloads_size() != 1)) return lost(i);
        if (*said)
          got[i] = (*said)->payloads(0);
        else
          waits.push_back({others_[i].link.fd(), POLLIN, 0});
      }
      // All payloads have arrived.
      if (waits.empty()) break;
      // The first one in rank order is named.
      const auto missing = std::ranges::find_if(got, [](const auto& one) { return !one; });
      if (monotonic_now_ns() >= deadline_ns)
        return fail(Code::kDeadlineExceeded, "rank {}: did not come to this step in time",
                    missing - got.begin() + 1);
      ::poll(waits.data(), waits.size(), poll_timeout_ms(deadline_ns));
    }
    GroupStep all;
    all.add_payloads(std::move(mine));
    for (auto& one : got) all.add_payloads(std::move(*one));
    // Each link gets the same bytes. A failed send is ignored: the next step reports the missing
    // rank.
    for (Other& other : others_) static_cast<void>(other.link.send(all, deadline_ns));
    return std::vector<std::string>(all.payloads().begin(), all.payloads().end());
  }

  const std::uint32_t size_;
  std::vector<Other> others_;  // by rank, from 1
  bool open_ = true;
};

}  // namespace

Result<std::unique_ptr<Group>> start_local_ranks(std::uint32_t size, const RankBody& body) {
  // The bound keeps a wrong number from forking without end.
  RG_CHECK(size >= 1 && size <= kMaxLocalRanks);
  RG_CHECK(::signal(SIGPIPE, SIG_IGN) != SIG_ERR);  // a write to a dead rank is an error
  auto parent = std::make_unique<Parent>(size);
  for (std::uint32_t rank = 1; rank < size; ++rank)
    if (const Status forked = parent->fork_next(body); !forked)
      return fail(forked.error().code, "rank {}: start: {}", rank, forked.error().message);
  return parent;
}

}  // namespace railgauge
