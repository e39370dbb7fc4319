// Every MPI kernel with data on real ranks whose MPI corrupts, drops, repeats or swaps one message
// of 100,000 at one rank (kernels/mpi/testing/faulty_mpi.cc): the task fails and names message and
// fault. The short check has one of 1,000 in windows and one of 200 else, since ranks that share a
// core with others are slow. One program for each MPI (RAILGAUGE_TEST_MPI).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>

#include "kernels/core/base/outcome.h"
#include "kernels/runner/testing/process.h"
#include "kernels/testing/contract.h"
#include "kernels/testing/corruption.h"

namespace railgauge {
namespace {

using ::testing::HasSubstr;
using testing_process::Ended;
using testing_process::Process;
using testing_process::program;
using Words = std::vector<std::string>;

const std::string kMpi = RAILGAUGE_TEST_MPI;
constexpr std::uint64_t kBytes = 64;

// On this host, over shared memory and loopback; UCX would look for NICs.
Ended launch(const std::string& kernel, const Words& more, const Words& environment) {
  Words words{program("railgauge-runner"),
              kernel,
              "--mpi",
              kMpi,
              "--ranks",
              "2",
              "--format",
              "json",
              "--sizes",
              fmt::format("{}", kBytes),
              "--iterations",
              "5"};
  words.insert(words.end(), more.begin(), more.end());
  Words all{"UCX_TLS=posix,sysv,cma,tcp,self", "UCX_WARN_UNUSED_ENV_VARS=n"};
  all.insert(all.end(), environment.begin(), environment.end());
  return Process(words, false, all).wait();
}

// Where messages suffer: a rank that receives, or the one that puts.
struct Case {
  const char* kernel;
  int faulty_rank;
  bool windowed = false;
  // The parameter; "": the kernel has none. With `single` the messages of a timed window share a
  // place, where only the last can be compared; a proof's window has one message then.
  std::string_view buffers = {};
  // The parameter `call`; "": its default.
  std::string_view call = {};
  // One more parameter and its value.
  std::string_view more = {};
  std::string_view value = {};

  [[nodiscard]] std::string label() const {
    if (!more.empty()) return fmt::format("{}, {} {}", kernel, more, value);
    if (!call.empty()) return fmt::format("{}, {}", kernel, call);
    return buffers.empty() ? kernel : fmt::format("{}, buffers {}", kernel, buffers);
  }
  // In a window of many places a late message still comes, in another one's place.
  [[nodiscard]] bool has_window_of_places() const { return windowed && buffers != "single"; }
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.label(); }

// More than the timed calls' messages, which are no proof's.
std::uint64_t every_how_many(const Case& one) {
  if (full_check()) return 100'000;
  return one.windowed ? 1'000 : 200;
}

// The number of the first wrong message; the timed calls before the proof count too.
std::uint64_t wrong_message(const std::string& reason) {
  constexpr std::string_view kWord = ": message ";
  const std::size_t at = reason.find(kWord);
  return at == std::string::npos ? 0 : std::stoull(reason.substr(at + kWord.size()));
}
// A non-blocking collective has calls beside a computation too, behind a batch that warms up.
std::uint64_t most_timed(const Case& one) {
  if (one.call == "nonblocking") return 150;
  return one.windowed ? 400 : 20;
}

// One of each manner: a ping-pong, a window, a put, a reduction, threads.
bool is_in_short_check(std::string_view kernel) {
  constexpr std::array kShort{"mpi.lat", "mpi.bw", "mpi.put_lat", "mpi.all_reduce",
                              "mpi.threads_lat"};
  return std::ranges::find(kShort, kernel) != kShort.end();
}

constexpr std::array kFaults{"none", "corrupt", "dropped", "repeated", "swapped"};

class MpiCorruption : public ::testing::TestWithParam<std::tuple<Case, const char*>> {};

TEST_P(MpiCorruption, OfOneMessageOfManyFailsTheTaskAndIsNamed) {
  const auto& [one, fault] = GetParam();
  if (!full_check() && !is_in_short_check(one.kernel)) GTEST_SKIP() << "in the full check";
  const std::uint64_t every = every_how_many(one);
  const bool faulty = std::string(fault) != "none";
  Words environment;
  if (faulty)
    environment = {std::string("LD_PRELOAD=") + RAILGAUGE_FAULTY_MPI,
                   fmt::format("RAILGAUGE_FAULT={}", fault),
                   fmt::format("RAILGAUGE_FAULT_RANK={}", one.faulty_rank),
                   fmt::format("RAILGAUGE_FAULT_BYTES={}", kBytes),
                   fmt::format("RAILGAUGE_FAULT_EVERY={}", every)};
  const char* time = faulty ? "25s" : full_check() ? "2s" : "100ms";
  Words parameters{"--proof-time", time};
  if (!one.buffers.empty())
    parameters.insert(parameters.end(), {"--buffers", std::string(one.buffers)});
  if (!one.call.empty()) parameters.insert(parameters.end(), {"--call", std::string(one.call)});
  if (!one.more.empty())
    parameters.insert(parameters.end(), {fmt::format("--{}", one.more), std::string(one.value)});
  const Ended ended = launch(one.kernel, parameters, environment);
  RunnerReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok())
      << ended.out << ended.err;
  std::string proved = "0";
  if (report.points_size() != 0) proved = report.points(0).facts().at("proved_messages");
  print_corruption(kMpi + " " + one.label(), fault, faulty ? every : 0, report.outcome(), proved);
  if (!faulty) {
    ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
    EXPECT_GT(std::stoull(proved), 0U);
    EXPECT_GE(std::stoull(report.points(0).facts().at("proved_bytes")), kBytes);
    return;
  }
  EXPECT_EQ(ended.exit_code, kExitFailed) << ended.err << ended.out;
  EXPECT_EQ(report.outcome(), "failed");
  EXPECT_EQ(report.points_size(), 0);
  const std::string reason = report.reason();
  EXPECT_THAT(reason, ::testing::ContainsRegex(": message [0-9]+ of 64, slot [0-9]+: "));
  EXPECT_LT(wrong_message(reason), every) << reason;
  EXPECT_GE(wrong_message(reason) + most_timed(one), every) << reason;
  EXPECT_THAT(reason, HasSubstr(", expected "));
  // Its place is empty when it is looked at, unless a window's other messages have come too, or the
  // rank's own input is there, of a call in place.
  const bool lost = std::string(fault) == "dropped" || std::string(fault) == "swapped";
  const std::string words = lost && one.more == "in-place"    ? "corrupt"
                            : std::string(fault) != "swapped" ? fault
                            : one.has_window_of_places()      ? "out of order"
                                                              : "dropped";
  EXPECT_THAT(reason, ::testing::EndsWith(words));
}

INSTANTIATE_TEST_SUITE_P(
    Catalog, MpiCorruption,
    ::testing::Combine(
        ::testing::Values(
            Case{"mpi.lat", 1}, Case{"mpi.bw", 1, true, "single"}, Case{"mpi.bw", 1, true, "each"},
            Case{"mpi.bibw", 0, true, "single"}, Case{"mpi.bibw", 0, true, "each"},
            Case{"mpi.rate", 1, true, "single"}, Case{"mpi.rate", 1, true, "each"},
            Case{"mpi.put_lat", 0}, Case{"mpi.get_lat", 0}, Case{"mpi.put_bw", 0, true},
            Case{"mpi.get_bw", 0, true},
            Case{"mpi.broadcast", 1}, Case{"mpi.reduce", 0}, Case{"mpi.all_reduce", 1},
            Case{"mpi.all_gather", 1}, Case{"mpi.reduce_scatter", 1},
            Case{"mpi.all_to_all", 1}, Case{"mpi.all_gather_v", 1}, Case{"mpi.all_to_all_v", 1},
            Case{"mpi.gather", 0}, Case{"mpi.gather_v", 0}, Case{"mpi.scatter", 1},
            Case{"mpi.scatter_v", 1}, Case{"mpi.neighbor_all_gather", 1}, Case{"mpi.multi_lat", 1},
            Case{"mpi.get_multi_lat", 0}, Case{"mpi.fan_in_bw", 0, true, "each"},
            Case{"mpi.fan_out_bw", 1, true, "each"}, Case{"mpi.put_bibw", 0, true},
            Case{"mpi.all_reduce", 1, false, {}, "nonblocking"},
            Case{"mpi.all_to_all", 1, false, {}, "nonblocking"},
            Case{"mpi.lat", 1, false, {}, "persistent"}, Case{"mpi.reduce_scatter_block", 1},
            Case{"mpi.all_to_all_w", 1}, Case{"mpi.neighbor_all_to_all", 1},
            Case{"mpi.neighbor_all_to_all_v", 1}, Case{"mpi.neighbor_all_gather_v", 1},
            Case{"mpi.neighbor_all_to_all_w", 1}, Case{"mpi.get_multi_bw", 0, true},
            Case{"mpi.put_lat", 0, false, {}, {}, "sync", "fence"},
            Case{"mpi.put_lat", 0, false, {}, {}, "sync", "pscw"},
            Case{"mpi.get_bw", 0, true, {}, {}, "sync", "lock"},
            Case{"mpi.all_reduce", 1, false, {}, {}, "in-place", "true"},
            Case{"mpi.threads_lat", 1, false, {}, {}, "threads", "1"}),
        ::testing::ValuesIn(kFaults)),
    [](const auto& chosen) {
      const Case& one = std::get<0>(chosen.param);
      const std::string_view form = one.more == "sync" ? one.value : one.more.substr(0, 2);
      const bool plain = one.buffers.empty() && one.call.empty() && form.empty();
      return fmt::format("{}_{}{}{}{}{}", std::string_view(one.kernel).substr(4), one.buffers,
                         one.call, form, plain ? "" : "_", std::get<1>(chosen.param));
    });

// Calls that change memory: one of seven is lost, comes twice, or brings another value. The kernel
// compares what each timed call fetched; an accumulate is proved call by call behind its time.
constexpr int kChangesOfOneFault = 7;
class MpiChanges : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(MpiChanges, AreComparedCallByCall) {
  const auto& [kernel, fault] = GetParam();
  const bool of_a_number = std::string_view(kernel).find("accumulate") == std::string_view::npos;
  Words words{program("railgauge-runner"),
              kernel,
              "--mpi",
              kMpi,
              "--ranks",
              "2",
              "--format",
              "json",
              "--iterations",
              "5",
              "--proof-time",
              "100ms"};
  if (!of_a_number) words.insert(words.end(), {"--sizes", fmt::format("{}", kBytes)});
  const Ended ended = Process(words, false,
                              {"UCX_TLS=posix,sysv,cma,tcp,self", "UCX_WARN_UNUSED_ENV_VARS=n",
                               std::string("LD_PRELOAD=") + RAILGAUGE_FAULTY_MPI,
                               fmt::format("RAILGAUGE_FAULT={}", fault), "RAILGAUGE_FAULT_RANK=0",
                               fmt::format("RAILGAUGE_FAULT_BYTES={}", of_a_number ? 8 : kBytes),
                               fmt::format("RAILGAUGE_FAULT_EVERY={}", kChangesOfOneFault)})
                          .wait();
  RunnerReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok())
      << ended.out << ended.err;
  print_corruption(kMpi + " " + kernel, fault, kChangesOfOneFault, report.outcome(), "0");
  EXPECT_EQ(ended.exit_code, kExitFailed) << ended.err << ended.out;
  EXPECT_THAT(report.reason(), HasSubstr("verify ")) << ended.err;
}

INSTANTIATE_TEST_SUITE_P(
    Catalog, MpiChanges,
    ::testing::Combine(::testing::Values("mpi.accumulate_lat", "mpi.get_accumulate_lat",
                                         "mpi.fetch_and_add_lat", "mpi.compare_and_swap_lat"),
                       ::testing::Values("dropped", "repeated", "corrupt")),
    [](const auto& chosen) {
      return fmt::format("{}_{}", std::string_view(std::get<0>(chosen.param)).substr(4),
                         std::get<1>(chosen.param));
    });

// A library that works in MPI_Test does not compute: each of its calls takes 2 ms, and the first
// one that completes the collective is the last.
TEST(MpiOverlap, CountsTheTimeInMpiTestAsTheLibrarys) {
  const Ended ended =
      launch("mpi.all_reduce", {"--proof-time", "0s", "--call", "nonblocking", "--polls", "4"},
             {std::string("LD_PRELOAD=") + RAILGAUGE_FAULTY_MPI, "RAILGAUGE_FAULT=slow_test",
              "RAILGAUGE_FAULT_RANK=0"});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  RunnerReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok());
  ASSERT_GE(report.points_size(), 2);
  EXPECT_EQ(report.points(1).metric(), "exposed_ns");
  EXPECT_GE(report.points(1).median(), 2e6);
  EXPECT_EQ(report.points(0).facts().at("overlap_percent"), "0.0");
}

TEST(MpiProof, HasAllItsMessagesWhereItHasTheTime) {
  if (!full_check()) GTEST_SKIP() << "takes long where ranks share a core with others";
  const Ended ended = launch("mpi.bw", {"--proof-time", "25s"}, {});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  RunnerReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok());
  const auto& facts = report.points(0).facts();
  EXPECT_GE(std::stoull(facts.at("proved_messages")), 500'000U);
  EXPECT_EQ(std::stoull(facts.at("proved_bytes")),
            kBytes * std::stoull(facts.at("proved_messages")));
}

TEST(MpiProof, OfABarrierIsNone) {
  Words words{program("railgauge-runner"),
              "mpi.barrier",
              "--mpi",
              kMpi,
              "--ranks",
              "2",
              "--format",
              "json",
              "--iterations",
              "5"};
  const Ended ended = Process(words, false, {"UCX_TLS=posix,sysv,cma,tcp,self"}).wait();
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("none: no message has a byte"));
}

}  // namespace
}  // namespace railgauge
