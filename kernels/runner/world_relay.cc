// The packets between a task and the process that calls MPI for it, and that process's loop.
#include "kernels/runner/world_relay.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/group/tcp.h"
#include "kernels/launch/ending.h"

namespace railgauge {
namespace {

// Without an answer of the launcher's ranks for so long, only the task's deadline ends the wait.
constexpr double kNoLimitSeconds = 7 * 86400.0;

// Upwards: a rank's payload, or the end of its task. Downwards: one packet for each rank's payload,
// or an error.
enum class Kind : std::uint32_t { kPayload = 1, kEnd, kError };
// In front of each packet's bytes. Both ends are one program.
struct Head {
  std::uint32_t task = 0;
  Kind kind = Kind::kPayload;
};
struct Packet {
  Head head;
  std::string bytes;
};

// One packet on a socket that keeps the borders of packets. False: the other end is gone, or it
// reads nothing and has sent something itself.
bool put(int socket, const Head& head, const std::string& bytes) {
  std::string packet(reinterpret_cast<const char*>(&head), sizeof head);
  packet += bytes;
  for (;;) {
    if (::send(socket, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    pollfd wait{socket, POLLIN | POLLOUT, 0};
    ::poll(&wait, 1, -1);
    if ((wait.revents & POLLIN) != 0) return false;
  }
}

// Absent: the other end is gone (kUnavailable) or silent until the deadline.
Result<Packet> take(int socket, double deadline_ns) {
  std::string bytes(sizeof(Head) + Group::kMaxPayload, '\0');
  for (;;) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got >= static_cast<ssize_t>(sizeof(Head))) {
      Packet out;
      std::memcpy(&out.head, bytes.data(), sizeof out.head);
      out.bytes.assign(bytes, sizeof out.head, static_cast<std::size_t>(got) - sizeof out.head);
      return out;
    }
    if (got >= 0 || (errno != EAGAIN && errno != EINTR))
      return fail(Code::kUnavailable, "the process that calls MPI for this rank is gone");
    if (monotonic_now_ns() >= deadline_ns)
      return fail(Code::kDeadlineExceeded, "the launcher's ranks: a step did not end in time");
    pollfd wait{socket, POLLIN, 0};
    ::poll(&wait, 1, poll_timeout_ms(deadline_ns));
  }
}

// A task's end of the socket.
class RelayedGroup final : public Group {
 public:
  RelayedGroup(std::uint32_t rank, std::uint32_t size, int socket, std::uint32_t task)
      : rank_(rank), size_(size), socket_(socket), task_(task) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  // Packets of an earlier task, whose process may have ended without reading them, are skipped.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override {
    RG_CHECK(mine.size() <= kMaxPayload);
    const double deadline_ns =
        monotonic_now_ns() + std::min(timeout_seconds, kNoLimitSeconds) * 1e9;
    if (!put(socket_, {task_, Kind::kPayload}, mine))
      return fail(Code::kUnavailable, "the process that calls MPI for this rank is gone");
    std::vector<std::string> all;
    while (all.size() < size_) {
      Packet packet = RG_TRY(take(socket_, deadline_ns));
      if (packet.head.task != task_) continue;
      if (packet.head.kind == Kind::kError) return fail(Code::kUnavailable, "{}", packet.bytes);
      all.push_back(std::move(packet.bytes));
    }
    return all;
  }

 private:
  const std::uint32_t rank_;
  const std::uint32_t size_;
  const int socket_;
  const std::uint32_t task_;
};

// "rank 3: its task has ended", for the ranks that wait for a step.
std::string missing_ranks(const std::vector<std::string>& kinds) {
  std::vector<std::size_t> missing;
  for (std::size_t rank = 0; rank < kinds.size(); ++rank)
    if (kinds[rank] != "payload") missing.push_back(rank);
  return fmt::format("rank{} {}: {} task has ended", missing.size() == 1 ? "" : "s",
                     fmt::join(missing, ", "), missing.size() == 1 ? "its" : "their");
}

// The relaying process: rounds of all ranks until every rank's socket is closed. In a round each
// rank says what it has; only when all have a payload do payloads travel.
class Rounds {
 public:
  Rounds(Group& group, int socket) : group_(group), socket_(socket) {}

  // The present task learns of an error of MPI, which ends all rounds.
  void run() {
    if (const Status ended = pass_all(); !ended)
      static_cast<void>(put(socket_, {task_, Kind::kError}, ended.error().message));
  }

 private:
  Status pass_all() {
    for (;;) {
      if (!closed_ && !ended_) next();
      const std::string mine = closed_ ? "closed" : ended_ ? "end" : "payload";
      const auto kinds = RG_TRY(group_.exchange(mine, kNoLimitSeconds));
      const auto all = [&](const char* kind) {
        return std::ranges::all_of(kinds, [&](const std::string& one) { return one == kind; });
      };
      if (all("closed")) return {};
      if (all("payload")) {
        for (const std::string& one : RG_TRY(group_.exchange(std::move(payload_), kNoLimitSeconds)))
          if (!put(socket_, {task_, Kind::kPayload}, one)) break;
      } else if (std::ranges::find(kinds, "payload") == kinds.end()) {
        ++task_;
        ended_ = false;
      } else if (mine == "payload") {
        static_cast<void>(put(socket_, {task_, Kind::kError}, missing_ranks(kinds)));
      }
    }
  }

  // Waits for this rank's next packet. The end is a task's last one.
  void next() {
    auto packet = take(socket_, monotonic_now_ns() + kNoLimitSeconds * 1e9);
    closed_ = !packet;
    if (closed_) return;
    ended_ = packet->head.kind == Kind::kEnd;
    payload_ = std::move(packet->bytes);
  }

  Group& group_;
  const int socket_;
  std::uint32_t task_ = 0;
  bool ended_ = false;   // this rank, in the present task
  bool closed_ = false;  // this rank, for good
  std::string payload_;
};

}  // namespace

Result<std::unique_ptr<WorldRelay>> WorldRelay::start(const World& world) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(Code::kUnavailable, "socketpair: {}", std::strerror(errno));
  Fd mine(ends[0]);
  Fd theirs(ends[1]);
  const pid_t process = RG_TRY(fork_process("railgauge-runner: MPI", [&] {
    mine = Fd();
    const std::unique_ptr<Group> group = world.join();
    Rounds(*group, theirs.get()).run();
    // Closed before MPI_Finalize, which may hang: a waiting task ends at once.
    theirs = Fd();
    world.leave();
    return 0;
  }));
  return std::unique_ptr<WorldRelay>(new WorldRelay(world, std::move(mine), process));
}

WorldRelay::~WorldRelay() {
  socket_ = Fd();
  if (wait_for_end(process_, kFinalizeSeconds)) return;
  fmt::print(stderr, "{}", kFinalizeHangs);
  ::kill(process_, SIGKILL);
  wait_for_end(process_);
}

std::unique_ptr<Group> WorldRelay::group() const {
  return std::make_unique<RelayedGroup>(rank_, size_, socket_.get(), task_);
}

// A failure means that the process is gone, which the next exchange reports.
void WorldRelay::end_task() {
  static_cast<void>(put(socket_.get(), {task_, Kind::kEnd}, {}));
  ++task_;
}

}  // namespace railgauge
