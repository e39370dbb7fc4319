// The greeting that checks both sides' task, the steps over sockets, and the listener's queue.
#include "kernels/core/group/tcp_group.h"

#include <poll.h>

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// The fact that marks a greeting as one of these programs, with the version of the contract.
constexpr const char* kContractFact = "railgauge_group";
constexpr const char* kContractVersion = "1";
constexpr const char* kRankFact = "rank";
// Bytes of a greeting at most: kernel, parameters and facts.
constexpr std::size_t kMaxGreeting = 64U << 10U;
// Bytes of one payload with its field headers, and of all payloads of a step.
constexpr std::size_t kMaxStep = Group::kMaxPayload + 64;
constexpr std::size_t kMaxAllPayloads = kMaxTcpRanks * kMaxStep;
// Time in ns for a peer's greeting.
constexpr double kGreetingNs = 5e9;
// Connections that may wait for their greeting; older ones are pushed out.
constexpr std::size_t kMaxPending = 64;
// Differing parameters that one error names.
constexpr std::size_t kMaxDifferences = 3;

double deadline_after(double timeout_seconds) { return monotonic_now_ns() + timeout_seconds * 1e9; }

// --- greeting -----------------------------------------------------------------------------------

// The parts of a task that both sides compare, and the contract's version.
Started greeting_of(const Started& task) {
  Started out;
  out.set_kernel(task.kernel());
  out.set_revision(task.revision());
  out.set_size(task.size());
  *out.mutable_parameters() = task.parameters();
  (*out.mutable_facts())[kContractFact] = kContractVersion;
  return out;
}

// A greeting, or nothing for bytes of a stranger.
std::optional<Started> parse_greeting(const std::string& bytes) {
  Started greeting;
  if (!greeting.ParseFromString(bytes) || !greeting.facts().contains(kContractFact))
    return std::nullopt;
  return greeting;
}

// A parameter's value for a message: in quotes, or "absent".
std::string value_of(const Started& task, const std::string& name) {
  const auto found = task.parameters().find(name);
  return found == task.parameters().end() ? "absent" : in_quotes(found->second);
}

// Each parameter that differs, with both values, sorted by name so that the error is the same on
// each try.
std::vector<std::string> differing_parameters(const Started& mine, const Started& theirs) {
  std::map<std::string, bool> names;  // sorted: the error is the same on each try
  for (const auto& [name, value] : mine.parameters()) names[name] = true;
  for (const auto& [name, value] : theirs.parameters()) names[name] = true;
  std::vector<std::string> out;
  for (const auto& [name, unused] : names)
    if (value_of(mine, name) != value_of(theirs, name))
      out.push_back(fmt::format("{} {} there and {} here", in_quotes(name), value_of(theirs, name),
                                value_of(mine, name)));
  return out;
}

// Compares version, kernel, revision, size and parameters, in this order: the first difference
// explains the later ones.
Status check_same(const Started& mine, const Started& theirs, const std::string& peer) {
  const std::string& version = theirs.facts().at(kContractFact);
  if (version != kContractVersion)
    return fail(Code::kAborted, "peer {} speaks version {} of the group contract, this side {}",
                peer, in_quotes(version), kContractVersion);
  const auto wrong = [&](const std::string& what) {
    return invalid("peer {} runs {}", peer, what);
  };
  if (theirs.kernel() != mine.kernel())
    return wrong(
        fmt::format("{}, this side {}", in_quotes(theirs.kernel()), in_quotes(mine.kernel())));
  if (theirs.revision() != mine.revision())
    return wrong(fmt::format("{} revision {}, this side {}", mine.kernel(), theirs.revision(),
                             mine.revision()));
  if (theirs.size() != mine.size())
    return wrong(
        fmt::format("{} with {} ranks, this side {}", mine.kernel(), theirs.size(), mine.size()));
  const std::vector<std::string> differences = differing_parameters(mine, theirs);
  if (differences.empty()) return {};
  const std::size_t named = std::min(differences.size(), kMaxDifferences);
  std::string text =
      fmt::format("{} with other parameters: {}", mine.kernel(),
                  fmt::join(differences.begin(),
                            differences.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < differences.size()) text += fmt::format(" and {} more", differences.size() - named);
  return wrong(text);
}

// --- steps --------------------------------------------------------------------------------------

// The steps of both roles. An error closes the connections, so that the other ranks learn of it at
// once.
class TcpGroup : public Group {
 public:
  TcpGroup(std::uint32_t rank, std::uint32_t size, std::vector<FrameStream> peers)
      : rank_(rank), size_(size), peers_(std::move(peers)) {}

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }

  // After an error the connections are closed, so that the other ranks learn at once.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override {
    RG_CHECK(mine.size() <= kMaxPayload);
    if (peers_.empty()) return fail(Code::kUnavailable, "the group ended with an earlier error");
    auto all = step(std::move(mine), deadline_after(timeout_seconds));
    if (!all) peers_.clear();
    ++step_;
    return all;
  }

 protected:
  virtual Result<std::vector<std::string>> step(std::string mine, double deadline_ns) = 0;

  // A peer's frame as a step with `count` payloads. Another step's number means that the sides
  // disagree, which no retry repairs.
  Result<GroupStep> parse(const FrameStream& peer, const std::string& bytes, std::uint32_t count) {
    GroupStep step;
    if (!step.ParseFromString(bytes) || static_cast<std::uint32_t>(step.payloads_size()) != count)
      return fail(Code::kUnavailable, "peer {} sent garbage", peer.peer());
    if (step.step() != step_)
      return fail(Code::kUnavailable, "peer {} is at step {}, this side at step {}", peer.peer(),
                  step.step(), step_);
    return step;
  }

  const std::uint32_t rank_;
  const std::uint32_t size_;
  std::vector<FrameStream> peers_;
  std::uint32_t step_ = 0;
};

// A rank that joined: it sends its payload to the relay and receives all.
class TcpMember final : public TcpGroup {
 public:
  using TcpGroup::TcpGroup;

 private:
  Result<std::vector<std::string>> step(std::string mine, double deadline_ns) override {
    FrameStream& relay = peers_.front();
    GroupStep out;
    out.set_step(step_);
    out.add_payloads(std::move(mine));
    RG_TRY_OK(relay.send(out, deadline_ns));
    const std::string bytes = RG_TRY(relay.read_frame(kMaxAllPayloads, deadline_ns));
    const GroupStep all = RG_TRY(parse(relay, bytes, size_));
    return std::vector<std::string>(all.payloads().begin(), all.payloads().end());
  }
};

// The listening rank: it collects every payload, then sends all to each.
class TcpRelay final : public TcpGroup {
 public:
  using TcpGroup::TcpGroup;

 private:
  // The rank of a peer: peers hold the ranks besides the relay's own, in order.
  [[nodiscard]] std::size_t rank_of(std::size_t peer) const {
    return peer < rank_ ? peer : peer + 1;
  }

  Result<std::vector<std::string>> step(std::string mine, double deadline_ns) override {
    std::vector<std::optional<std::string>> got(peers_.size());
    for (std::size_t missing = peers_.size(); missing > 0;) {
      for (std::size_t i = 0; i < peers_.size(); ++i) {
        if (got[i]) continue;
        const auto bytes = RG_TRY(peers_[i].poll_frame(kMaxStep));
        if (!bytes) continue;
        got[i] = RG_TRY(parse(peers_[i], *bytes, 1)).payloads(0);
        --missing;
      }
      if (missing > 0) RG_TRY_OK(wait(got, deadline_ns));
    }
    GroupStep all;
    all.set_step(step_);
    for (std::uint32_t i = 0; i < size_; ++i) all.add_payloads();
    all.set_payloads(static_cast<int>(rank_), std::move(mine));
    for (std::size_t i = 0; i < peers_.size(); ++i)
      all.set_payloads(static_cast<int>(rank_of(i)), std::move(*got[i]));
    for (FrameStream& peer : peers_) RG_TRY_OK(peer.send(all, deadline_ns));
    return std::vector<std::string>(all.payloads().begin(), all.payloads().end());
  }

  // Waits until a peer sends, or a peer that has already sent leaves (POLLRDHUP).
  Status wait(const std::vector<std::optional<std::string>>& got, double deadline_ns) {
    std::vector<pollfd> waits;
    for (std::size_t i = 0; i < peers_.size(); ++i)
      waits.push_back({peers_[i].fd(), static_cast<short>(got[i] ? POLLRDHUP : POLLIN), 0});
    const int ready = ::poll(waits.data(), waits.size(), poll_timeout_ms(deadline_ns));
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (got[i] && waits[i].revents != 0) return peers_[i].closed();
      if (!got[i] && ready <= 0 && monotonic_now_ns() >= deadline_ns)
        return fail(Code::kDeadlineExceeded, "peer {} (rank {}) did not answer in time",
                    peers_[i].peer(), rank_of(i));
    }
    return {};
  }
};

}  // namespace

// --- listening ----------------------------------------------------------------------------------

Result<TcpListener> TcpListener::bind(std::string_view address) {
  TcpAddress where = RG_TRY(parse_listen_address(address));
  Fd socket = RG_TRY(tcp_listen(where));
  where.port = local_address(socket).port;
  return TcpListener(std::move(socket), std::move(where));
}

// Counts the stranger and keeps its reason for the error of a listener without any peer.
void TcpListener::refuse(const Pending& pending, std::string_view why) {
  ++refused_;
  last_refusal_ = fmt::format("{}: {}", pending.stream.peer(), why);
}

// Accepts all waiting connections. A flood of strangers pushes out the oldest, not the newest.
Status TcpListener::take_waiting(std::vector<Pending>& pending, double deadline_ns) {
  for (std::size_t taken = 0; taken < kMaxPending; ++taken) {
    Accepted next = RG_TRY(tcp_accept(socket_));
    if (!next.socket) break;
    if (pending.size() == kMaxPending) {
      refuse(pending.front(), "pushed out by newer connections");
      pending.erase(pending.begin());
    }
    pending.push_back({FrameStream(std::move(next.socket), next.peer),
                       std::min(deadline_ns, monotonic_now_ns() + kGreetingNs)});
  }
  return {};
}

// Waits until a connection or a greeting comes, or the next deadline passes.
void TcpListener::wait(const std::vector<Pending>& pending, double deadline_ns) const {
  std::vector<pollfd> waits{{socket_.get(), POLLIN, 0}};
  for (const Pending& one : pending) {
    waits.push_back({one.stream.fd(), POLLIN, 0});
    deadline_ns = std::min(deadline_ns, one.deadline_ns);
  }
  ::poll(waits.data(), waits.size(), poll_timeout_ms(deadline_ns));
}

// Settles one connection if its greeting is there or overdue. The answer leaves before the
// comparison, so that the peer can name the difference too.
Result<bool> TcpListener::greet(Pending& one, const Started& task, std::uint32_t rank) {
  const auto bytes = one.stream.poll_frame(kMaxGreeting);
  if (bytes && !*bytes && monotonic_now_ns() < one.deadline_ns) return false;
  const auto theirs = bytes && *bytes ? parse_greeting(**bytes) : std::nullopt;
  if (!theirs) {
    refuse(one, bytes && !*bytes ? "sent no greeting" : "is no Railgauge peer");
    return true;
  }
  // The answer leaves before the comparison, so that the peer can name the difference too.
  Started answer = greeting_of(task);
  (*answer.mutable_facts())[kRankFact] = std::to_string(rank);
  one.joined = one.stream.send(answer, one.deadline_ns).has_value();
  RG_TRY_OK(check_same(task, *theirs, one.stream.peer()));
  return true;
}

// Ranks are given in order of arrival; the listener's own rank is left out.
Result<std::unique_ptr<Group>> TcpListener::accept(const Started& task, std::uint32_t own_rank,
                                                   double timeout_seconds) {
  RG_CHECK(task.size() >= 2 && task.size() <= kMaxTcpRanks && own_rank < task.size());
  const double deadline_ns = deadline_after(timeout_seconds);
  std::vector<Pending> pending;
  std::vector<FrameStream> joined;
  while (monotonic_now_ns() < deadline_ns) {
    RG_TRY_OK(take_waiting(pending, deadline_ns));
    for (auto one = pending.begin(); one != pending.end();) {
      const auto index = static_cast<std::uint32_t>(joined.size());
      if (!RG_TRY(greet(*one, task, index < own_rank ? index : index + 1))) {
        ++one;
        continue;
      }
      if (one->joined) joined.push_back(std::move(one->stream));
      one = pending.erase(one);
      if (joined.size() + 1 == task.size())
        return std::make_unique<TcpRelay>(own_rank, task.size(), std::move(joined));
    }
    wait(pending, deadline_ns);
  }
  std::string text =
      fmt::format("listen on {}: {} of {} peers came within {} s", to_string(address_),
                  joined.size(), task.size() - 1, timeout_seconds);
  if (refused_ > 0)
    text += fmt::format("; {} connections were refused, the last from {}", refused_, last_refusal_);
  return fail(Code::kDeadlineExceeded, std::move(text));
}

// --- joining ------------------------------------------------------------------------------------

// The relay's greeting has the rank of this side.
Result<std::unique_ptr<Group>> join_tcp_group(std::string_view address, const Started& task,
                                              double timeout_seconds) {
  RG_CHECK(task.size() >= 2 && task.size() <= kMaxTcpRanks);
  const double deadline_ns = deadline_after(timeout_seconds);
  const TcpAddress where = RG_TRY(parse_connect_address(address, kDefaultGroupPort));
  Fd socket = RG_TRY(tcp_connect(where, deadline_ns));
  FrameStream relay(std::move(socket), where);
  RG_TRY_OK(relay.send(greeting_of(task), deadline_ns));
  const auto bytes = relay.read_frame(kMaxGreeting, deadline_ns);
  if (!bytes)
    return fail(bytes.error().code, "{}; no free Railgauge listener greeted there",
                bytes.error().message);
  const auto theirs = parse_greeting(*bytes);
  if (!theirs) return fail(Code::kUnavailable, "{} is no Railgauge listener", to_string(where));
  RG_TRY_OK(check_same(task, *theirs, relay.peer()));
  const auto rank = parse_integer(value_of(theirs->facts(), kRankFact));
  if (!rank || *rank < 0 || *rank >= task.size())
    return fail(Code::kUnavailable, "peer {} gave no rank", relay.peer());
  std::vector<FrameStream> peers;
  peers.push_back(std::move(relay));
  return std::make_unique<TcpMember>(static_cast<std::uint32_t>(*rank), task.size(),
                                     std::move(peers));
}

}  // namespace railgauge
