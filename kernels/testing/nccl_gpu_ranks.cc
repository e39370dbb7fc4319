#include "kernels/testing/nccl_gpu_ranks.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "kernels/catalog.h"
#include "kernels/core/base/fd.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/recorder.h"

namespace railgauge::nccl_gpu {
namespace {

constexpr double kDeadlineSeconds = 120;

// Whole messages over a socket pair: length, then bytes.
bool send_all(int fd, const std::string& text) {
  const auto size = static_cast<std::uint64_t>(text.size());
  std::string frame(sizeof size, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  frame += text;
  std::size_t done = 0;
  while (done < frame.size()) {
    const ssize_t sent = send(fd, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += static_cast<std::size_t>(sent);
  }
  return true;
}
bool receive_exactly(int fd, char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = recv(fd, data, bytes, 0);
    if (got <= 0) return false;
    data += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}
std::optional<std::string> receive_all(int fd) {
  std::uint64_t size = 0;
  if (!receive_exactly(fd, reinterpret_cast<char*>(&size), sizeof size)) return std::nullopt;
  std::string text(size, '\0');
  if (!receive_exactly(fd, text.data(), text.size())) return std::nullopt;
  return text;
}

// A rank's process on its end; the test's process collects each step's payloads and hands out all.
class ChildGroup final : public Group {
 public:
  // The process kills itself at the end of step number `dies_at`, counted from 1; 0: of none.
  ChildGroup(int fd, std::uint32_t rank, std::uint32_t size, std::uint32_t dies_at)
      : fd_(fd), rank_(rank), size_(size), dies_at_(dies_at) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  Result<std::vector<std::string>> exchange(std::string mine, double) override {
    std::vector<std::string> all;
    bool well = send_all(fd_, "step " + mine);
    for (std::uint32_t rank = 0; well && rank < size_; ++rank) {
      auto one = receive_all(fd_);
      well = one.has_value();
      if (well) all.push_back(std::move(*one));
    }
    if (!well) return fail(Code::kUnavailable, "another rank is gone");
    if (++step_ == dies_at_) raise(SIGKILL);
    return all;
  }

 private:
  int fd_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint32_t dies_at_;
  std::uint32_t step_ = 0;
};

Status run_kernel(const KernelRow& row, Context& context, Group& group) {
  const auto kernel = row.make();
  RG_TRY_OK(kernel->prepare(context));
  // A rank that cannot start ends here; its end of the socket pair closes, and the others learn so.
  RG_TRY_OK(kernel->connect(context, group));
  return kernel->measure(context, group);
}

// Runs in the child and never returns. Writes "end CODE
// MESSAGE
// " and the measured lines.
[[noreturn]] void rank_main(const Way& way, int fd, std::uint32_t rank) {
  alarm(static_cast<unsigned>(kDeadlineSeconds) + 30);
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  const KernelRow& row = *find_kernel(way.kernel);
  const KernelInfo info = row.info();
  auto given = way.parameters;
  // A task of the test is short.
  for (const auto& [name, value] : {std::pair("proof_time", "50ms"), {"least_time", "100ms"}})
    if (std::ranges::find(info.parameters(), name, &ParameterInfo::name) != info.parameters().end())
      given.try_emplace(name, value);
  if (way.sockets) {
    given["p2p_disable"] = given["shm_disable"] = given["ib_disable"] = "true";
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  }
  const auto params = Params::parse(info, given);
  fake::RankResult result;
  if (params) {
    fake::Recorder recorder(result);
    ChildGroup group(fd, rank, way.ranks, rank + 1 == way.ranks ? way.last_dies_at : 0);
    Context context{*params,
                    recorder,
                    fake::test_clock(),
                    "gpu" + std::to_string(rank),
                    monotonic_now_ns() + kDeadlineSeconds * 1e9,
                    false,
                    rank};
    result.status = run_kernel(row, context, group);
  } else {
    result.status = tl::unexpected(params.error());
  }
  std::ostringstream out;
  out << "end " << (result.status ? 0 : static_cast<int>(result.status.error().code)) << "\n"
      << (result.status ? "" : result.status.error().message) << "\n";
  for (const Point& point : result.points) {
    out << point.metric() << " " << point.meaning() << " " << point.message_bytes()
        << " B: " << point.median() << " (n " << point.sample_count()
        << (point.verified() ? ", verified" : "") << (point.synthetic() ? ", synthetic" : "");
    for (const char* fact : {"algorithm", "protocol", "channels"})
      if (const auto found = point.facts().find(fact); found != point.facts().end())
        out << ", " << fact << " " << found->second;
    out << ")\n";
  }
  for (const char* fact : {"nccl", "implementation", "nccl_network", "nccl_transports", "path",
                           "nccl_channels", "nccl_nvls", "verified_on"})
    if (result.facts.contains(fact))
      out << "fact " << fact << ": " << result.facts.at(fact) << "\n";
  send_all(fd, out.str());
  std::fflush(nullptr);
  _exit(0);
}

Ended parse_end(const std::string& text) {
  std::istringstream in(text);
  std::string word;
  int code = 0;
  Ended ended;
  in >> word >> code;
  std::getline(in, ended.message);
  std::getline(in, ended.message);
  ended.code = static_cast<Code>(code);
  for (std::string line; std::getline(in, line);) ended.lines.push_back(line);
  return ended;
}

// Relays until every rank has ended; a rank that ends before the others frees them.
std::vector<Ended> relay(std::vector<Fd>& ends) {
  std::vector<Ended> all(ends.size());
  std::size_t left = ends.size();
  while (left > 0) {
    std::vector<std::string> payloads;
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
      if (!ends[rank]) continue;
      auto said = receive_all(ends[rank].get());
      if (said && said->starts_with("step ")) {
        payloads.push_back(said->substr(5));
        continue;
      }
      if (said) all[rank] = parse_end(*said);
      ends[rank].reset();
      --left;
    }
    const bool complete = payloads.size() == ends.size();
    for (Fd& end : ends) {
      if (!end) continue;
      if (complete)
        for (const std::string& payload : payloads) send_all(end.get(), payload);
      else
        shutdown(end.get(), SHUT_WR);  // it reads the end, and may still send its own
    }
  }
  return all;
}

// Looked at in a process of its own: no CUDA before a fork.
GpuPresence look_for_gpus() {
  const auto said = said_by_child([] {
    const GpuPresence seen = gpu_presence();
    return std::to_string(static_cast<int>(seen.kind)) + " " + std::to_string(seen.count) + " " +
           seen.why;
  });
  GpuPresence seen{.kind = GpuPresence::Kind::kBroken, .why = "the look for GPUs died"};
  if (!said) return seen;
  std::istringstream in(*said);
  int kind = 0;
  in >> kind >> seen.count >> std::ws;
  seen.kind = static_cast<GpuPresence::Kind>(kind);
  std::getline(in, seen.why);
  return seen;
}
}  // namespace

std::optional<std::string> said_by_child(const std::function<std::string()>& say) {
  std::array<int, 2> pair{};
  RG_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    send_all(pair[1], say());
    _exit(0);
  }
  close(pair[1]);
  const Fd mine(pair[0]);
  auto said = receive_all(mine.get());
  waitpid(child, nullptr, 0);
  return said;
}

std::vector<Ended> run_ranks(const Way& way) {
  std::vector<Fd> ends;
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (std::uint32_t rank = 0; rank < way.ranks; ++rank) {
    std::array<int, 2> pair{};
    RG_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    const pid_t child = fork();
    if (child == 0) {
      ends.clear();
      close(pair[0]);
      rank_main(way, pair[1], rank);
    }
    close(pair[1]);
    ends.emplace_back(pair[0]);
    children.push_back(child);
  }
  std::vector<Ended> all = relay(ends);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return all;
}

const GpuPresence& gpus_here() {
  static const GpuPresence seen = look_for_gpus();
  return seen;
}

}  // namespace railgauge::nccl_gpu
