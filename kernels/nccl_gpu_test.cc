// Every collective on the GPUs of this machine, a process for each rank as in production: on one
// GPU and on all of them, by what NCCL chooses (direct copies) and by sockets alone, with the data
// verified. Without a GPU or without NCCL the program waives. NVLink multicast is off here, by this
// test's own environment: shared machines do not let everybody use it.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

#include "kernels/catalog.h"
#include "kernels/core/fd.h"
#include "kernels/core/outcome.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/recorder.h"
#include "kernels/nccl/data.h"
#include "kernels/testing/gpu_presence.h"

namespace railgauge {
namespace {

constexpr double kDeadlineSeconds = 120;
constexpr std::uint32_t kMostRanks = 8;

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

struct Way {
  std::string kernel;
  std::uint32_t ranks = 1;
  bool sockets = false;
  std::map<std::string, std::string> parameters{};
  std::uint32_t last_dies_at = 0;  // the last rank's process, at this step of the group
};

Status run_kernel(const KernelRow& row, Context& context, Group& group) {
  const auto kernel = row.make();
  RG_TRY_OK(kernel->prepare(context));
  // A rank that cannot start ends here; its end of the socket pair closes, and the others learn so.
  RG_TRY_OK(kernel->connect(context, group));
  return kernel->measure(context, group);
}

// In the child: never returns. Says "end CODE\nMESSAGE\n" and what it measured.
[[noreturn]] void rank_main(const Way& way, int fd, std::uint32_t rank) {
  alarm(static_cast<unsigned>(kDeadlineSeconds) + 30);
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  auto given = way.parameters;
  if (way.sockets) {
    given["p2p_disable"] = given["shm_disable"] = given["ib_disable"] = "true";
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  }
  const KernelRow& row = *find_kernel(way.kernel);
  const auto params = Params::parse(row.info(), given);
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

struct Ended {
  Code code = Code::kUnavailable;
  std::string message = "its process ended without a word";
  std::vector<std::string> lines;
};
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
        shutdown(end.get(), SHUT_WR);  // it reads the end, and may still tell its own
    }
  }
  return all;
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

// Looked at in a process of its own: no CUDA before a fork.
GpuPresence look_for_gpus() {
  std::array<int, 2> pair{};
  RG_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const GpuPresence seen = gpu_presence();
    send_all(pair[1], std::to_string(static_cast<int>(seen.kind)) + " " +
                          std::to_string(seen.count) + " " + seen.why);
    _exit(0);
  }
  close(pair[1]);
  const Fd mine(pair[0]);
  const auto said = receive_all(mine.get());
  waitpid(child, nullptr, 0);
  GpuPresence seen{.kind = GpuPresence::Kind::kBroken, .why = "the look for GPUs died"};
  if (!said) return seen;
  std::istringstream in(*said);
  int kind = 0;
  in >> kind >> seen.count >> std::ws;
  seen.kind = static_cast<GpuPresence::Kind>(kind);
  std::getline(in, seen.why);
  return seen;
}
const GpuPresence& gpus_here() {
  static const GpuPresence seen = look_for_gpus();
  return seen;
}

class OnGpus : public ::testing::TestWithParam<Way> {};

TEST_P(OnGpus, MeasuresVerifiedFiguresOrWaivesWithAReason) {
  Way way = GetParam();
  ASSERT_NE(gpus_here().kind, GpuPresence::Kind::kBroken) << gpus_here().why;
  if (gpus_here().kind == GpuPresence::Kind::kAbsent) GTEST_SKIP() << gpus_here().why;
  const auto gpus = static_cast<std::uint32_t>(gpus_here().count);
  if (way.ranks != 1) way.ranks = std::min(gpus, kMostRanks);
  if (way.ranks == 1 && GetParam().ranks != 1) GTEST_SKIP() << "one GPU";
  const std::vector<Ended> all = run_ranks(way);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const Ended& ended = all[rank];
    if (ended.code == Code{0}) continue;
    ASSERT_EQ(outcome_of(ended.code), kWaived)
        << way.kernel << " rank " << rank << " of " << all.size() << ": " << ended.message;
    GTEST_SKIP() << ended.message;
  }
  int points = 0;
  int transports = 0;
  for (const std::string& line : all[0].lines) {
    std::printf("%s of %zu%s: %s\n", way.kernel.c_str(), all.size(),
                way.sockets ? " by sockets" : "", line.c_str());
    if (line.starts_with("fact ")) {
      if (way.sockets && line.starts_with("fact nccl_transports: ")) {
        ++transports;
        EXPECT_THAT(line, ::testing::HasSubstr("NET/Socket"));
      }
      continue;
    }
    ++points;
    EXPECT_THAT(line, ::testing::HasSubstr(", verified"));
    EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("synthetic")));
    EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr(": 0 (")));
  }
  EXPECT_GT(points, 0);
  if (way.sockets) {
    EXPECT_EQ(transports, 1) << "what was used is not told";
  }
}

// The others wait in vain, inside NCCL or on the GPU: they give up, abort, and say where they were.
TEST(OnGpusThatLoseARank, TheOthersEndAndSayWhere) {
  ASSERT_NE(gpus_here().kind, GpuPresence::Kind::kBroken) << gpus_here().why;
  if (gpus_here().kind == GpuPresence::Kind::kAbsent) GTEST_SKIP() << gpus_here().why;
  const auto gpus = static_cast<std::uint32_t>(gpus_here().count);
  if (gpus < 2) GTEST_SKIP() << "one GPU";
  // Steps: four of the meeting, joined (5), memory (6), first calls (7), the path (8), first calls
  // of the size (9), an order (10) and what it gave (11). So: while the others join, while they
  // make first calls, in the call that tells the choice, in a batch.
  for (const std::uint32_t step : {4U, 6U, 10U, 16U}) {
    SCOPED_TRACE(step);
    const std::vector<Ended> all = run_ranks({.kernel = "nccl.all_reduce",
                                              .ranks = std::min(gpus, kMostRanks),
                                              .parameters = {{"sizes", "1MiB"},
                                                             {"busy", "measure"},
                                                             {"numa", "any"},
                                                             {"stall_timeout", "5s"},
                                                             {"join_timeout", "5s"}},
                                              .last_dies_at = step});
    for (std::size_t rank = 0; rank + 1 < all.size(); ++rank) {
      const Ended& ended = all[rank];
      if (ended.code != Code{0} && outcome_of(ended.code) == kWaived) GTEST_SKIP() << ended.message;
      std::printf("  rank %zu: %s\n", rank, ended.message.c_str());
      EXPECT_NE(ended.code, Code{0});
      EXPECT_THAT(ended.message,
                  ::testing::HasSubstr("(this is rank " + std::to_string(rank) + ", at: "));
    }
  }
}

const std::string kWaivedMark = "waived: ";  // NOLINT(cert-err58-cpp)

// In a process of its own: what becomes of a buffer of `type` whose element number `spoiled` has
// one wrong bit; "" for what must become of it.
std::string verify_spoiled(nc::DataType type, std::uint64_t count, std::uint64_t spoiled) {
  const auto look = [&]() -> Status {
    const gpu::Gpu gpu = RG_TRY(gpu::Gpu::open("gpu0"));
    RG_TRY_OK(gpu.make_current());
    nccl::Data data = RG_TRY(nccl::Data::create(gpu));
    const std::uint64_t bytes = nccl::bytes_of(type);
    const GpuBuffer memory = RG_TRY(GpuBuffer::allocate(gpu.name(), count * bytes));
    const nccl::Values values{.type = type, .reduced = true, .seed = 11, .ranks = 1};
    const std::vector<nccl::Segment> all{{.count = count}};
    RG_TRY_OK(data.fill(memory.data(), count, values, 0));
    RG_TRY_OK(data.verify(memory.data(), all, values, "unspoiled"));
    const cu::DevicePtr at = memory.data() + spoiled * bytes;
    unsigned char byte = 0;
    RG_TRY_OK(gpu_status(gpu, loaded_cuda().memcpy_dtoh(&byte, at, 1), "read a byte"));
    byte ^= 1U;
    RG_TRY_OK(gpu_status(gpu, loaded_cuda().memcpy_htod(at, &byte, 1), "spoil a byte"));
    return data.verify(memory.data(), all, values, "spoiled");
  };
  const Status seen = look();
  if (seen) return "nothing was found wrong";
  if (outcome_of(seen.error().code) == kWaived) return kWaivedMark + seen.error().message;
  const std::string expected = "spoiled: element " + std::to_string(spoiled) + " is ";
  return seen.error().code == Code::kDataLoss && seen.error().message.starts_with(expected)
             ? ""
             : seen.error().message;
}

// What verifies every figure, on the GPU itself: a check that finds nothing would pass all else.
TEST(OnAGpu, ASpoiledByteIsFoundAndNamed) {
  ASSERT_NE(gpus_here().kind, GpuPresence::Kind::kBroken) << gpus_here().why;
  if (gpus_here().kind == GpuPresence::Kind::kAbsent) GTEST_SKIP() << gpus_here().why;
  constexpr std::uint64_t kCount = (1U << 20U) + 3;
  for (const nc::DataType type : {nc::kFloat32, nc::kBfloat16, nc::kInt8, nc::kUint64})
    for (const std::uint64_t spoiled : {std::uint64_t{0}, kCount / 2, kCount - 1}) {
      SCOPED_TRACE(std::to_string(type) + " at " + std::to_string(spoiled));
      std::array<int, 2> pair{};
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
      std::fflush(nullptr);
      const pid_t child = fork();
      if (child == 0) {
        send_all(pair[1], verify_spoiled(type, kCount, spoiled));
        _exit(0);
      }
      close(pair[1]);
      const Fd mine(pair[0]);
      const auto said = receive_all(mine.get());
      waitpid(child, nullptr, 0);
      if (said && said->starts_with(kWaivedMark)) GTEST_SKIP() << *said;
      EXPECT_EQ(said.value_or("its process ended without a word"), "");
    }
}

using Parameters = std::map<std::string, std::string>;

Parameters quick(const Parameters& more) {
  Parameters all = more;
  all.insert({{"sizes", "8,64KiB,16MiB"}, {"time_cap", "1s"}, {"min_samples", "20"}});
  all.insert({{"busy", "measure"}, {"numa", "any"}, {"stall_timeout", "30s"}});
  return all;
}

std::vector<Way> ways() {
  constexpr std::uint32_t kAll = 0;
  std::vector<Way> all;
  for (const KernelRow& row : catalog()) {
    const std::string name = row.info().name();
    if (!name.starts_with("nccl.")) continue;
    all.push_back({name, 1, false, quick({})});
    all.push_back({name, kAll, false, quick({})});
    all.push_back({name, kAll, true, quick({})});
  }
  const auto more = [&](const char* kernel, const Parameters& given) {
    all.push_back({kernel, kAll, false, quick(given)});
  };
  for (const char* kernel : {"nccl.all_reduce", "nccl.all_gather", "nccl.reduce_scatter"}) {
    more(kernel, {{"in_place", "true"}});
    more(kernel, {{"mode", "graph"}});
    more(kernel, {{"registered", "true"}});
  }
  for (const char* type :
       {"float16", "bfloat16", "float64", "float8e4m3", "float8e5m2", "int8", "uint64"})
    for (const char* reduction : {"sum", "prod", "avg", "max"})
      more("nccl.all_reduce",
           {{"datatype", type}, {"reduction", reduction}, {"sizes", "1MiB"}, {"iterations", "5"}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, OnGpus, ::testing::ValuesIn(ways()), [](const auto& param) {
  const Way& way = param.param;
  std::string name = way.kernel.substr(5) + (way.ranks == 1 ? "_one" : "_all");
  if (way.sockets) name += "_sockets";
  for (const char* parameter : {"in_place", "mode", "registered", "datatype", "reduction"})
    if (way.parameters.contains(parameter)) {
      const std::string& value = way.parameters.at(parameter);
      name += std::string("_") + (value == "true" ? parameter : value);
    }
  return name;
});

}  // namespace
}  // namespace railgauge
