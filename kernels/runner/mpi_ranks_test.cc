// The MPI family as a person uses it: real ranks of a real MPI on this host. One program for each
// MPI (RAILGAUGE_TEST_MPI), so that they run beside each other. Iterations are few, since ranks
// that wait for a core they share wait for Linux's scheduler.
#include <stdlib.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/peers/profile.pb.h"
#include "kernels/runner/testing/process.h"
#include "kernels/testing/contract.h"

namespace railgauge {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_process::Ended;
using testing_process::Process;
using testing_process::program;
using Words = std::vector<std::string>;

const std::string kMpi = RAILGAUGE_TEST_MPI;
const std::string kRanksProgram = "railgauge-runner-" + kMpi;

// Removed at its end.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "mpi_test_XXXXXX").string();
    RG_CHECK(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

// On this host, over shared memory and loopback; UCX would look for NICs.
Words quiet() { return {"UCX_TLS=posix,sysv,cma,tcp,self", "UCX_WARN_UNUSED_ENV_VARS=n"}; }

Ended launch(const std::string& kernel, int ranks, Words more, Words environment = {}) {
  Words words{program("railgauge-runner"), kernel,     "--mpi", kMpi, "--ranks",
              fmt::format("{}", ranks),    "--format", "json"};
  if (kernel.starts_with("mpi.") && kernel != "mpi.barrier" && kernel != "mpi.init")
    words.insert(words.end(), {"--proof-time", "0s"});
  words.insert(words.end(), more.begin(), more.end());
  Words all = quiet();
  all.insert(all.end(), environment.begin(), environment.end());
  return Process(words, false, all).wait();
}

RunnerReport report_of(const Ended& ended) {
  RunnerReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok())
      << ended.out << ended.err;
  return report;
}

struct Case {
  const char* kernel;
  int ranks;
  const char* sizes;  // "": none
  std::size_t points;
  // A rank's staging depends on the others': another part of the call, or their memory.
  bool has_parts = false;
  // The parameter `call`; "": its default.
  std::string_view call = {};
  // Its messages can be copied around the calls.
  bool stages = true;

  [[nodiscard]] std::string label() const {
    std::string name = std::string(kernel).substr(4);
    return call.empty() ? name : name + "_" + std::string(call);
  }
  // A message without a byte proves nothing.
  [[nodiscard]] bool has_bytes(const Point& point) const { return point.message_bytes() > 0; }
  // With what makes a task of the case.
  [[nodiscard]] Words words(const char* iterations) const {
    Words out{"--iterations", iterations};
    if (*sizes != '\0') out.insert(out.end(), {"--sizes", sizes});
    if (!call.empty()) out.insert(out.end(), {"--call", std::string(call)});
    return out;
  }
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.label(); }

class EachKernel : public ::testing::TestWithParam<Case> {
 protected:
  // The short check has the GPU's memory of the first suite alone: a launch takes a second.
  static bool is_in_short_check() {
    const std::string_view suite =
        ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
    return full_check() || suite.starts_with("Catalog/");
  }
};

TEST_P(EachKernel, MeasuresAndVerifiesItsData) {
  const Case& one = GetParam();
  const Ended ended = launch(one.kernel, one.ranks, one.words("5"));
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  const RunnerReport report = report_of(ended);
  EXPECT_EQ(report.outcome(), "passed");
  EXPECT_EQ(static_cast<std::size_t>(report.points_size()), one.points);
  std::set<std::string> pairs;
  for (const Point& point : report.points()) {
    EXPECT_EQ(point.verified(), one.has_bytes(point)) << point.message_bytes();
    EXPECT_FALSE(point.synthetic());
    if (point.metric() == "exposed_ns") continue;
    EXPECT_EQ(point.sample_count(), 5);
    EXPECT_TRUE(point.median() > 0 || point.message_bytes() == 0);
    pairs.insert(point.pair());
  }
  EXPECT_TRUE(pairs.contains(""));
  const auto& facts = report.started().facts();
  EXPECT_EQ(facts.at("mpi"), kMpi);
  EXPECT_THAT(facts.at("mpi_version"), HasSubstr(kMpi == "mpich" ? "MPICH " : "Open MPI "));
  EXPECT_THAT(facts.at("mpi_library"), HasSubstr(".so."));
  EXPECT_EQ(facts.at("memory"), "host");
  EXPECT_NE(facts.at(kMpi == "mpich" ? "mpi_transports_configured" : "mpi_btl_configured"), "");
  if (kMpi == "openmpi") {
    EXPECT_THAT(facts.at("mpi_pml"), ::testing::AnyOf("ob1", "ucx", "cm"));
  }
}

// The twin of every figure on device memory: MPI gets host memory, and each message is copied
// between it and the (synthetic) GPU, where alone the data is checked. Each rank copies for itself;
// where its copies depend on the others' part, also with the others in host memory.
TEST_P(EachKernel, MeasuresStagedThroughHostMemory) {
  const Case& one = GetParam();
  if (!is_in_short_check()) GTEST_SKIP() << "in the full check";
  if (*one.sizes == '\0' || !one.stages) GTEST_SKIP() << "has no messages that are copied";
  for (const char* peer : {"same", "host"}) {
    if (std::string(peer) == "host" && !one.has_parts) continue;
    Words words = one.words("3");
    words.insert(words.end(),
                 {"--memory", "device", "--peer-memory", peer, "--gpu-path", "staged"});
    const Ended ended = launch(one.kernel, one.ranks, words,
                               {std::string("RAILGAUGE_LIBCUDA=") + RAILGAUGE_FAKE_LIBCUDA});
    ASSERT_EQ(ended.exit_code, kExitPassed) << peer << ended.err << ended.out;
    const RunnerReport report = report_of(ended);
    EXPECT_EQ(static_cast<std::size_t>(report.points_size()), one.points);
    for (const Point& point : report.points()) {
      EXPECT_EQ(point.verified(), one.has_bytes(point));
      EXPECT_TRUE(point.synthetic());
    }
    EXPECT_EQ(report.points(0).facts().at("gpu_path_observed"), "staged");
    EXPECT_EQ(report.started().facts().at("gpu_path_configured"), "staged");
    const std::string kernel = one.kernel;
    const bool one_sided = kernel.starts_with("mpi.put") || kernel.starts_with("mpi.get");
    EXPECT_EQ(report.started().facts().contains("one_sided_staging"),
              one_sided && std::string(peer) == "same");
  }
}

// The memory of a fake GPU is the host's, so this MPI may pass for one that takes device pointers.
// Each figure has a twin that was staged, and says what the two show; the data stays what it was.
TEST_P(EachKernel, FindsOutBesideAStagedTwinWhetherTheGpusMemoryIsReadDirectly) {
#ifndef RAILGAUGE_FAILPOINTS
  GTEST_SKIP() << "this build has no failpoints";
#endif
  const Case& one = GetParam();
  if (!is_in_short_check()) GTEST_SKIP() << "in the full check";
  if (*one.sizes == '\0') GTEST_SKIP() << "has no messages";
  Words words = one.words("3");
  words.insert(words.end(), {"--memory", "device"});
  const Ended ended = launch(one.kernel, one.ranks, words,
                             {std::string("RAILGAUGE_LIBCUDA=") + RAILGAUGE_FAKE_LIBCUDA,
                              "RAILGAUGE_FAILPOINT=mpi_cuda_aware"});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  const RunnerReport report = report_of(ended);
  EXPECT_EQ(static_cast<std::size_t>(report.points_size()), one.points);
  EXPECT_EQ(report.started().facts().at("gpu_path_configured"), "direct");
  for (const Point& point : report.points()) {
    EXPECT_EQ(point.verified(), one.has_bytes(point));
    if (point.metric() == "exposed_ns") continue;
    EXPECT_EQ(point.sample_count(), 3) << "the twin's samples are none of the figure's";
    if (!point.pair().empty()) continue;
    EXPECT_THAT(point.facts().at("gpu_path_observed"),
                ::testing::AnyOf("direct", "looks staged", "unknown"));
    EXPECT_THAT(point.facts().at("gpu_path_evidence"), HasSubstr("staged twin"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Catalog, EachKernel,
    ::testing::Values(
        Case{"mpi.lat", 2, "0,8,100000", 3, true}, Case{"mpi.bw", 2, "1,70000", 2},
        Case{"mpi.bibw", 2, "8,70000", 2}, Case{"mpi.rate", 4, "8", 1},
        Case{"mpi.put_lat", 2, "8", 1, true}, Case{"mpi.get_lat", 2, "8", 1, true},
        Case{"mpi.put_bw", 2, "5000", 1, true}, Case{"mpi.get_bw", 2, "5000", 1, true},
        Case{"mpi.barrier", 4, "", 5}, Case{"mpi.broadcast", 4, "0,5000", 10, true},
        Case{"mpi.reduce", 4, "4000", 5, true}, Case{"mpi.all_reduce", 4, "4,4000", 10},
        Case{"mpi.all_gather", 4, "1001", 5},
        // Fewer elements than ranks: some get none.
        Case{"mpi.reduce_scatter", 4, "8,4004", 10}, Case{"mpi.all_to_all", 4, "1001", 5},
        Case{"mpi.lat", 2, "8", 1, false, "persistent"},
        Case{"mpi.bw", 2, "70000", 1, false, "persistent"}, Case{"mpi.multi_lat", 4, "8", 1},
        Case{"mpi.fan_in_bw", 3, "5000", 1}, Case{"mpi.fan_out_bw", 3, "5000", 1},
        Case{"mpi.get_multi_bw", 4, "5000", 1}, Case{"mpi.get_multi_lat", 4, "8", 1},
        Case{"mpi.put_bibw", 2, "5000", 3, false, "", false},
        Case{"mpi.accumulate_lat", 2, "8,4096", 2, false, "", false},
        Case{"mpi.get_accumulate_lat", 2, "8,4096", 2, false, "", false},
        Case{"mpi.fetch_and_add_lat", 2, "", 1}, Case{"mpi.compare_and_swap_lat", 2, "", 1}),
    [](const auto& param) { return param.param.label(); });

// Each other collective, in one form each and all forms in turn.
INSTANTIATE_TEST_SUITE_P(
    Collectives, EachKernel,
    ::testing::Values(Case{"mpi.all_gather_v", 3, "1001", 4},
                      Case{"mpi.all_to_all_v", 3, "1001", 5, false, "nonblocking"},
                      Case{"mpi.all_to_all_w", 3, "1001", 4, false, "persistent"},
                      Case{"mpi.all_reduce", 3, "4000", 5, false, "nonblocking"},
                      Case{"mpi.broadcast", 3, "5000", 4, true, "persistent"},
                      Case{"mpi.gather", 3, "1001", 4, true},
                      Case{"mpi.gather_v", 3, "1001", 5, true, "nonblocking"},
                      Case{"mpi.scatter", 3, "1001", 4, true},
                      Case{"mpi.scatter_v", 3, "1001", 4, true, "persistent"},
                      Case{"mpi.reduce_scatter_block", 3, "4004", 4},
                      Case{"mpi.neighbor_all_gather", 3, "1001", 4},
                      Case{"mpi.neighbor_all_gather_v", 2, "1001", 4, false, "nonblocking"},
                      Case{"mpi.neighbor_all_to_all", 4, "1001", 5},
                      Case{"mpi.neighbor_all_to_all_v", 3, "1001", 5, false, "nonblocking"},
                      Case{"mpi.neighbor_all_to_all_w", 3, "1001", 4}),
    [](const auto& param) { return param.param.label(); });

TEST(Ranks, MeetInBlocksOfSeveralLengths) {
  for (const char* kernel : {"mpi.all_gather_v", "mpi.all_to_all_v", "mpi.all_to_all_w",
                             "mpi.gather_v", "mpi.scatter_v", "mpi.neighbor_all_to_all_v"}) {
    const Ended ended =
        launch(kernel, 3, {"--iterations", "3", "--sizes", "1001", "--blocks", "uneven"});
    ASSERT_EQ(ended.exit_code, kExitPassed) << kernel << ended.err << ended.out;
    EXPECT_TRUE(report_of(ended).points(0).verified()) << kernel;
  }
}

TEST(Ranks, PutAndGetInEpochsOfEachKind) {
  for (const char* kernel :
       {"mpi.put_lat", "mpi.get_lat", "mpi.put_bw", "mpi.get_bw", "mpi.put_bibw"})
    for (const char* sync : {"fence", "pscw", "lock"}) {
      const Ended ended =
          launch(kernel, 2, {"--iterations", "3", "--sizes", "5000", "--sync", sync});
      ASSERT_EQ(ended.exit_code, kExitPassed) << kernel << " " << sync << ended.err << ended.out;
      EXPECT_TRUE(report_of(ended).points(0).verified()) << kernel << " " << sync;
    }
}

TEST(Ranks, CollectInPlace) {
  for (const char* kernel : {"mpi.all_reduce", "mpi.all_gather", "mpi.reduce", "mpi.gather"})
    for (const char* call : {"blocking", "nonblocking"}) {
      const Ended ended =
          launch(kernel, 3,
                 {"--iterations", "3", "--sizes", "4000", "--in-place", "true", "--call", call});
      ASSERT_EQ(ended.exit_code, kExitPassed) << kernel << " " << call << ended.err << ended.out;
      EXPECT_TRUE(report_of(ended).points(0).verified()) << kernel << " " << call;
    }
}

// A library without threads waives; these have them.
TEST(Ranks, ExchangeMessagesOfSeveralThreads) {
  const Ended ended =
      launch("mpi.threads_lat", 2, {"--iterations", "20", "--sizes", "8,5000", "--threads", "3"});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  const RunnerReport report = report_of(ended);
  ASSERT_EQ(report.points_size(), 2);
  EXPECT_TRUE(report.points(1).verified());
  EXPECT_GT(report.points(0).median(), 0);
  // Ranks that fewer CPUs than threads have say so.
  const int bound = std::stoi(report.started().facts().at("bound_cpus"));
  const auto says = std::ranges::count_if(report.notes(), [](const auto& note) {
    return note.text().find("3 threads of a rank share") != std::string::npos;
  });
  EXPECT_EQ(says > 0, bound < 3) << bound;
}

TEST(Ranks, SayWhatAComputationHides) {
  const Ended ended =
      launch("mpi.all_reduce", 2,
             {"--iterations", "20", "--sizes", "64KiB", "--call", "nonblocking", "--polls", "4"});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  const RunnerReport report = report_of(ended);
  ASSERT_GE(report.points_size(), 2);
  const auto& facts = report.points(0).facts();
  const double hidden = std::stod(facts.at("overlap_percent"));
  EXPECT_GE(hidden, 0);
  EXPECT_LE(hidden, 100);
  // The computation is as long as the call, and the rest of the time is what it did not hide.
  const double computed = std::stod(facts.at("compute_ns"));
  EXPECT_GE(computed, 0.99 * report.points(0).mean());
  EXPECT_NEAR(std::stod(facts.at("overall_ns")) - computed, report.points(1).mean(), 1);
  EXPECT_TRUE(report.points(1).verified());
  EXPECT_EQ(report.points(1).metric(), "exposed_ns");
  EXPECT_EQ(report.points(1).meaning(), "not_hidden");
}

TEST(Ranks, TellTheTimeOfMpiInit) {
  const Ended ended = launch("osu_init", 3, {});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  const RunnerReport report = report_of(ended);
  EXPECT_EQ(report.kernel(), "mpi.init");
  ASSERT_EQ(report.points_size(), 4);
  EXPECT_EQ(report.points(0).sample_count(), 1);
  EXPECT_GT(report.points(0).median(), 1e5);
}

TEST(Ranks, RefuseColdMemoryOfARequestThatIsMadeOnce) {
  const Ended ended =
      launch("mpi.lat", 2, {"--iterations", "3", "--buffer", "cold", "--call", "persistent"});
  EXPECT_EQ(ended.exit_code, kExitInvalid) << ended.err << ended.out;
  EXPECT_THAT(ended.err + ended.out, HasSubstr("has one place; say buffer=hot"));
}

// Each place has data of its own, which is compared where the last sample was.
TEST(Ranks, MoveThroughColdMemory) {
  const std::string fake = std::string("RAILGAUGE_LIBCUDA=") + RAILGAUGE_FAKE_LIBCUDA;
  for (const auto& [kernel, path] : {std::pair("mpi.lat", ""),
                                     {"mpi.get_bw", ""},
                                     {"mpi.get_lat", "staged"},
                                     {"mpi.put_bw", "staged"},
                                     {"mpi.reduce_scatter", "staged"}}) {
    Words words{"--iterations", "3",    "--sizes",       "16KiB",
                "--buffer",     "cold", "--cold-memory", "32MiB"};
    if (*path != '\0') words.insert(words.end(), {"--memory", "device", "--gpu-path", path});
    const Ended ended = launch(kernel, 2, words, {fake});
    ASSERT_EQ(ended.exit_code, kExitPassed) << kernel << ended.err << ended.out;
    const RunnerReport report = report_of(ended);
    EXPECT_GT(report.points_size(), 0) << kernel;
    for (const Point& point : report.points()) {
      EXPECT_TRUE(point.verified());
      EXPECT_THAT(
          point.facts().at("buffer"),  // by this machine's cache
          AnyOf("cold", StartsWith("hot: cold_memory is 32MiB"), StartsWith("not known: ")));
    }
  }
}

TEST(Ranks, RefuseColdMemoryWhereAWindowHasOnePlace) {
  const Ended ended = launch("mpi.bw", 2, {"--iterations", "3", "--buffer", "cold"});
  EXPECT_EQ(ended.exit_code, kExitInvalid) << ended.err << ended.out;
  EXPECT_THAT(ended.err + ended.out, HasSubstr("say buffers=each"));
}

TEST(Ranks, PrintOneTableWhenAPersonStartsTheLauncher) {
  const Ended found = Process({"/bin/sh", "-c",
                               kMpi == "mpich" ? "command -v mpiexec.hydra"
                                               : "command -v mpirun.openmpi || command -v mpirun"})
                          .wait();
  Words words{found.out.substr(0, found.out.find('\n')),
              "-n",
              "2",
              program(kRanksProgram),
              "mpi.lat",
              "--sizes",
              "8",
              "--iterations",
              "5"};
  Words environment = quiet();
  if (kMpi == "openmpi") {
    words.insert(words.begin() + 1, "--oversubscribe");
    environment.insert(environment.end(),
                       {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  }
  const Ended ended = Process(words, false, environment).wait();
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_THAT(ended.out, ::testing::StartsWith("mpi.lat  memory host"));
  EXPECT_EQ(ended.out.find("mpi.lat"), ended.out.rfind("mpi.lat")) << ended.out;
}

TEST(Ranks, TellOfARankThatIsKilledWithTheLaunchersLastLines) {
#ifndef RAILGAUGE_FAILPOINTS
  GTEST_SKIP() << "this build has no failpoints";
#endif
  const Ended ended = launch("mpi.lat", 2, {"--sizes", "8", "--iterations", "5"},
                             {"RAILGAUGE_FAILPOINT=mpi_follower"});
  EXPECT_EQ(ended.exit_code, kExitInvalid);
  const RunnerReport report = report_of(ended);
  EXPECT_EQ(report.outcome(), "crashed");
  EXPECT_THAT(report.reason(), HasSubstr("its last lines: "));
  EXPECT_THAT(report.reason(), ::testing::AnyOf(HasSubstr("signal 9"), HasSubstr("Killed"),
                                                HasSubstr("EXIT CODE: 9"), HasSubstr("KILLED")))
      << report.reason();
  EXPECT_THAT(report.reason(), ::testing::Not(HasSubstr("\n")));
}

TEST(Ranks, UseTheTransportThatATunableNames) {
  Words more{"--sizes", "8", "--iterations", "5", "--transports"};
  if (kMpi == "mpich")
    more.emplace_back("sysv,self");
  else
    more.insert(more.end(), {"tcp,self", "--layer", "ob1"});
  const Ended ended = launch("mpi.lat", 2, more);
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  const auto facts = report_of(ended).started().facts();
  const std::string used =
      facts.at(kMpi == "mpich" ? "mpi_transports_configured" : "mpi_btl_configured");
  EXPECT_THAT(used, HasSubstr(kMpi == "mpich" ? "sysv" : "tcp"));
  EXPECT_THAT(used, ::testing::Not(HasSubstr(kMpi == "mpich" ? "posix" : "vader")));
  EXPECT_THAT(facts.at("mpi_settings"), HasSubstr(kMpi == "mpich" ? "UCX_TLS=" : "OMPI_MCA_btl="));
}

// The counters distinguish loopback from memory, whatever the MPI prints.
TEST(Ranks, SayWhatCarriedTheirMessagesByCounters) {
  const bool has_rdma = std::filesystem::exists("/sys/class/infiniband") &&
                        !std::filesystem::is_empty("/sys/class/infiniband");
  const Words many{"--sizes", "64KiB", "--iterations", "400"};
  Words by_memory = many;
  Words by_loopback = many;
  if (kMpi == "mpich") {
    by_memory.insert(by_memory.end(), {"--transports", "posix,sysv,self"});
    by_loopback.insert(by_loopback.end(), {"--transports", "tcp,self"});
  } else {
    by_memory.insert(by_memory.end(), {"--layer", "ob1", "--transports", "vader,self"});
    by_loopback.insert(by_loopback.end(), {"--layer", "ob1", "--transports", "tcp,self"});
  }
  // Another program's loopback traffic looks like the ranks' own, so a busy machine is asked again.
  const std::string expected = has_rdma ? "unknown" : "memory";
  std::map<std::string, std::string> facts;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Ended memory = launch("mpi.lat", 2, by_memory);
    ASSERT_EQ(memory.exit_code, kExitPassed) << memory.err << memory.out;
    const RunnerReport report = report_of(memory);
    facts = {report.points(0).facts().begin(), report.points(0).facts().end()};
    if (facts.at("transport_observed") == expected) break;
  }
  EXPECT_EQ(facts.at("transport_observed"), expected) << facts.at("transport_evidence");
  EXPECT_TRUE(facts.at("ceiling").starts_with("none: ")) << facts.at("ceiling");
  // Debian's MPICH may hang at its end over TCP alone; its shared memory has been looked at.
  if (kMpi == "mpich") return;
  const Ended loopback = launch("mpi.lat", 2, by_loopback);
  ASSERT_EQ(loopback.exit_code, kExitPassed) << loopback.err << loopback.out;
  const auto told = report_of(loopback).points(0).facts();
  EXPECT_EQ(told.at("transport_observed"), "loopback") << told.at("transport_evidence");
  EXPECT_EQ(told.at("ceiling"), "none: all ranks are on one machine");
}

// A node's other ranks are reached through shared memory; with that switched off, as between nodes.
TEST(Ranks, AreWaivedWhereTheMpiHasNothingForOneSidedCalls) {
  if (kMpi == "mpich") GTEST_SKIP() << "of Open MPI";
  const Words more{"--sizes", "8", "--iterations", "5"};
  const Ended none = launch("mpi.put_lat", 2, more,
                            {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=tcp,self", "OMPI_MCA_osc=rdma"});
  EXPECT_EQ(none.exit_code, kExitWaived) << none.err << none.out;
  EXPECT_THAT(report_of(none).reason(), HasSubstr("has nothing here for one-sided calls"));
  Words named = more;
  named.insert(named.end(), {"--layer", "ob1", "--transports", "tcp,self"});
  const Ended good = launch("mpi.put_lat", 2, named);
  EXPECT_EQ(good.exit_code, kExitPassed) << good.err << good.out;
}

TEST(Ranks, TakeNoLayerThatCannotCarryThem) {
  if (kMpi == "mpich") GTEST_SKIP() << "of Open MPI";
  // Without a device that UCX can use on this host, Open MPI must fail instead of using another
  // transport.
  const Ended ended =
      launch("mpi.lat", 2,
             {"--sizes", "8", "--iterations", "5", "--layer", "ucx", "--transports", "nothing"});
  EXPECT_EQ(ended.exit_code, kExitInvalid) << ended.out;
  EXPECT_EQ(report_of(ended).outcome(), "crashed");
}

TEST(Ranks, KeepTheirFiguresWhenMpiDoesNotComeToItsEnd) {
#ifndef RAILGAUGE_FAILPOINTS
  GTEST_SKIP() << "this build has no failpoints";
#endif
  const Ended ended = launch("mpi.lat", 2, {"--sizes", "8", "--iterations", "5"},
                             {"RAILGAUGE_FAILPOINT=hang:mpi_finalize"});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  const RunnerReport report = report_of(ended);
  EXPECT_EQ(report.points_size(), 1);
  ASSERT_EQ(report.notes_size(), 1);
  EXPECT_THAT(report.notes(0).text(), HasSubstr("MPI_Finalize did not come back within"));
}

// With the report of transports turned off by the caller.
TEST(Ranks, WarnWhereTheMpiDoesNotSayItsTransports) {
  const Ended ended = launch("mpi.lat", 2, {"--sizes", "8", "--iterations", "5"},
                             {"UCX_LOG_LEVEL=error", "OMPI_MCA_pml=ob1",
                              "OMPI_MCA_btl_base_verbose=0", "OMPI_MCA_opal_common_ofi_verbose=0"});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  const RunnerReport report = report_of(ended);
  EXPECT_EQ(report.points_size(), 1);
  ASSERT_EQ(report.notes_size(), 1) << ended.out;
  EXPECT_THAT(report.notes(0).text(), HasSubstr("did not say its transports"));
}

TEST(Ranks, AreWaivedWithoutTheirLauncher) {
  const Ended ended = launch("mpi.lat", 2, {}, {"PATH=/nowhere"});
  EXPECT_EQ(ended.exit_code, kExitWaived) << ended.err;
  const RunnerReport report = report_of(ended);
  EXPECT_EQ(report.outcome(), "waived");
  EXPECT_THAT(report.reason(), HasSubstr(kMpi + ": no mpi"));
  EXPECT_THAT(report.reason(), HasSubstr("install "));
}

// A launcher that never starts a rank and does not end; writes its pid to a file.
struct HangingLauncher {
  explicit HangingLauncher(const char* first_words = "") {
    const std::string program = folder.path / "hangs";
    const std::string part = folder.path / "part";
    std::ofstream(program) << "#!/bin/sh\n"
                           << first_words << "\necho waiting for nobody >&2\necho $$ > " << part
                           << "\nmv " << part << " " << started().string() << "\nexec sleep 600\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    variable =
        (kMpi == "mpich" ? "RAILGAUGE_LAUNCHER_MPICH=" : "RAILGAUGE_LAUNCHER_OPENMPI=") + program;
  }
  [[nodiscard]] std::filesystem::path started() const { return folder.path / "started"; }
  // Its process; waits for it as long as a test waits for anything.
  [[nodiscard]] pid_t process() const {
    const double deadline_ns = monotonic_now_ns() + testing_process::kPatienceSeconds * 1e9;
    while (!std::filesystem::exists(started()) && monotonic_now_ns() < deadline_ns)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pid_t process = 0;
    std::ifstream(started()) >> process;
    return process;
  }
  Folder folder;
  std::string variable;
};

TEST(Ranks, EndWithTheirLauncherWhenThePersonEndsThem) {
  const HangingLauncher launcher;
  Process process(
      {program("railgauge-runner"), "mpi.lat", "--mpi", kMpi, "--ranks", "2", "--format", "json"},
      false, {launcher.variable});
  const pid_t hanging = launcher.process();
  ASSERT_GT(hanging, 0);
  process.signal(SIGTERM);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.exit_code, kExitTerminated) << ended.err;
  EXPECT_EQ(report_of(ended).outcome(), "cancelled");
  EXPECT_EQ(::kill(hanging, 0), -1) << "the launcher lives on";
}

TEST(Ranks, EndWithALauncherThatIgnoresBeingAsked) {
  const HangingLauncher launcher("trap '' TERM");
  const Ended ended = launch("mpi.lat", 2, {"--deadline", "100ms"}, {launcher.variable});
  EXPECT_EQ(report_of(ended).outcome(), "timed_out") << ended.err;
  EXPECT_EQ(::kill(launcher.process(), 0), -1) << "the launcher lives on";
}

TEST(Ranks, AreTimedOutWithALauncherThatHangs) {
  const HangingLauncher launcher;
  const Ended ended = launch("mpi.lat", 2, {"--deadline", "100ms"}, {launcher.variable});
  EXPECT_EQ(ended.exit_code, kExitInvalid);
  const RunnerReport report = report_of(ended);
  EXPECT_EQ(report.outcome(), "timed_out");
  EXPECT_THAT(report.reason(), HasSubstr("waiting for nobody"));
  EXPECT_EQ(::kill(launcher.process(), 0), -1) << "the launcher lives on";
}

TEST(Ranks, ReadOsusCommandLineAndMpisSpelling) {
  const Ended osu = launch("osu_bw", 2, {"-m", "8:16", "-i", "5", "-x", "2", "H", "H"});
  ASSERT_EQ(osu.exit_code, kExitPassed) << osu.err << osu.out;
  const RunnerReport report = report_of(osu);
  EXPECT_EQ(report.kernel(), "mpi.bw");
  ASSERT_EQ(report.points_size(), 2);
  EXPECT_EQ(report.points(0).sample_count(), 5);
  EXPECT_EQ(report.points(0).warmup_count(), 2);
  const Ended collective = launch("osu_allreduce", 2, {"-m", "4:4", "-i", "5", "-x", "2"});
  ASSERT_EQ(collective.exit_code, kExitPassed) << collective.err << collective.out;
  const RunnerReport sums = report_of(collective);
  ASSERT_GT(sums.points_size(), 0);
  // OSU's figure: the mean over the ranks of their means.
  const auto& facts = sums.points(0).facts();
  EXPECT_NEAR(sums.points(0).mean(), std::stod(facts.at("mean_of_ranks_ns")), 0.06);
  EXPECT_LE(std::stod(facts.at("least_rank_mean_ns")), sums.points(0).mean() + 0.06);
  EXPECT_GE(std::stod(facts.at("most_rank_mean_ns")), sums.points(0).mean() - 0.06);
  const Ended spelled = launch("MPI_Barrier", 2, {}, {"PATH=/nowhere"});  // starts no rank
  EXPECT_EQ(report_of(spelled).kernel(), "mpi.barrier") << spelled.err;
}

TEST(Ranks, AreNotAsManyAsTheKernelCannotUse) {
  const Ended odd = launch("mpi.rate", 3, {"--sizes", "8", "--iterations", "5"});
  EXPECT_EQ(odd.exit_code, kExitWaived) << odd.out;
  EXPECT_THAT(odd.err + odd.out, HasSubstr("3 ranks make no pairs"));
  const Ended many = launch("mpi.lat", 4, {});
  EXPECT_EQ(many.exit_code, kExitUsage);
  EXPECT_THAT(many.err, HasSubstr("mpi.lat takes 2 ranks at most"));
}

TEST(Ranks, GetNoDevicePointersOfAnMpiThatIsNotCudaAware) {
  const std::string fake = std::string("RAILGAUGE_LIBCUDA=") + RAILGAUGE_FAKE_LIBCUDA;
  const Ended direct =
      launch("mpi.lat", 2, {"--sizes", "8", "--iterations", "5", "--memory", "device"}, {fake});
  EXPECT_EQ(direct.exit_code, kExitWaived) << direct.err << direct.out;
  EXPECT_THAT(report_of(direct).reason(), HasSubstr("not CUDA-aware"));
  EXPECT_THAT(report_of(direct).reason(), HasSubstr("gpu_path=staged"));
}

// --- NCCL's collectives with the ranks of an MPI's launcher, on fake GPUs ------------------------

// Runs railgauge-runner itself under this MPI's launcher, as nccl-tests' users start its programs.
Ended launch_nccl(int ranks, const Words& more) {
  Words words{kMpi == "mpich" ? "/usr/bin/mpiexec.mpich" : "/usr/bin/mpirun.openmpi", "-n",
              fmt::format("{}", ranks)};
  if (kMpi == "openmpi") words.insert(words.end(), {"--allow-run-as-root", "--oversubscribe"});
  words.push_back(program("railgauge-runner"));
  words.insert(words.end(), more.begin(), more.end());
  const std::string folder = std::string(std::getenv("RAILGAUGE_BUILD_DIR")) + "/lib/";
  Words environment = quiet();
  environment.insert(environment.end(), {"RAILGAUGE_LIBCUDA=" + folder + "libcuda-fake.so",
                                         "RAILGAUGE_LIBNVML=" + folder + "libnvidia-ml-fake.so",
                                         "RAILGAUGE_LIBNCCL=" + folder + "libnccl-fake.so",
                                         "RAILGAUGE_FAKE_CUDA=gpus=4", "RAILGAUGE_FAKE_NVML=gpus=4",
                                         "RAILGAUGE_FAKE_NCCL=processes"});
  return Process(words, false, environment).wait();
}

TEST(LaunchedCollectives, MeetByTheLaunchersMpiAndPrintOneTable) {
  const Ended ended = launch_nccl(3, {"all_reduce_perf", "-b", "8", "-e", "64", "-f", "8", "-n",
                                      "5", "-g", "1", "--set", "numa=any", "--format", "json"});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  NcclTestsReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok())
      << ended.out << ended.err;
  EXPECT_TRUE(report.launched());
  EXPECT_EQ(report.ranks(), 3U);
  ASSERT_EQ(report.reports_size(), 2) << "out of place and in place, each in processes of its own";
  for (const RunnerReport& one : report.reports()) {
    EXPECT_EQ(one.outcome(), "passed") << one.reason();
    EXPECT_EQ(one.started().size(), 3U);
    ASSERT_GT(one.points_size(), 0);
    EXPECT_TRUE(one.points(0).verified());
  }
}

TEST(LaunchedCollectives, RunByTheKernelsOwnNameToo) {
  const Ended ended = launch_nccl(2, {"nccl.all_reduce", "--sizes", "8", "--iterations", "5",
                                      "--numa", "any", "--format", "json"});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  EXPECT_EQ(report_of(ended).started().size(), 2U);
}

TEST(LaunchedCollectives, HaveOneGpuAProcess) {
  const Ended ended = launch_nccl(2, {"all_reduce_perf", "-g", "2"});
  EXPECT_NE(ended.exit_code, kExitPassed);
  EXPECT_THAT(ended.err, HasSubstr("-g: 2 GPUs in a process that a launcher started as one of 2"));
}

// MPICH and MVAPICH2 call the library otherwise than Debian does.
TEST(Ranks, FindMpichUnderItsOtherName) {
  if (kMpi != "mpich") GTEST_SKIP() << "of MPICH's interface";
  const auto facts = report_of(launch("mpi.barrier", 2, {"--iterations", "2"})).started().facts();
  const Folder folder;
  std::filesystem::copy_file(facts.at("mpi_library"), folder.path / "libmpi.so.12");
  const std::string path = "LD_LIBRARY_PATH=" + folder.path.string();
  const Ended ended = launch("mpi.lat", 2, {"--sizes", "8", "--iterations", "5"}, {path});
  ASSERT_EQ(ended.exit_code, kExitPassed) << ended.err << ended.out;
  EXPECT_EQ(report_of(ended).started().facts().at("mpi_library"),
            std::filesystem::canonical(folder.path / "libmpi.so.12").string());
}

}  // namespace
}  // namespace railgauge
