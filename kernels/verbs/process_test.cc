// A pair task between two processes of this host on the fake, and a peer that is killed.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/core/group/tcp_group.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"

namespace railgauge {
namespace {

using Parameters = std::map<std::string, std::string>;

class Silent final : public Reporter {
 public:
  void point(Point point) override { points.push_back(std::move(point)); }
  void note(std::string_view, std::string) override {}
  void fact(std::string_view, std::string) override {}
  std::vector<Point> points;
};

Status run_rank(std::string_view kernel_name, const Parameters& given, Group& group,
                const std::string& endpoint, Silent& reporter) {
  const KernelRow& row = *find_kernel(kernel_name);
  const Params params = RG_TRY(Params::parse(row.info(), given));
  Context context{params, reporter,    fake::test_clock(), endpoint, monotonic_now_ns() + 20e9,
                  false,  group.rank()};
  const auto kernel = row.make();
  RG_TRY_OK(kernel->prepare(context));
  RG_TRY_OK(kernel->connect(context, group));
  return kernel->measure(context, group);
}

Started pair_task(std::string_view kernel) {
  Started task;
  task.set_kernel(std::string(kernel));
  task.set_size(2);
  return task;
}

class Processes : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
  }

  // Rank 1 in a child process, which exits with 0 when its part went well.
  void start_target(const Parameters& parameters) {
    auto listener = TcpListener::bind("127.0.0.1:0");
    ASSERT_TRUE(listener) << listener.error().message;
    port_ = listener->address().port;
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ != 0) return;
    Silent reporter;
    auto group = listener->accept(pair_task(GetParam()), 1, 10);
    if (!group) _exit(2);
    _exit(run_rank(GetParam(), parameters, **group, "fake1:1", reporter) ? 0 : 1);
  }
  Status run_initiator(const Parameters& parameters) {
    const auto group =
        RG_TRY(join_tcp_group("127.0.0.1:" + std::to_string(port_), pair_task(GetParam()), 10));
    return run_rank(GetParam(), parameters, *group, "fake0:1", reporter_);
  }
  int reap() {
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    return status;
  }

  static bool is_atomic() { return GetParam().starts_with("verbs.atomic"); }

  pid_t child_ = -1;
  int port_ = 0;
  Silent reporter_;
};

TEST_P(Processes, MeasureAndVerifyAcrossTheHost) {
  Parameters parameters{{"sizes", "8,64KiB"}, {"iterations", "200"}, {"proof_time", "0s"}};
  if (is_atomic()) parameters.erase("sizes");
  start_target(parameters);
  const Status status = run_initiator(parameters);
  EXPECT_TRUE(status) << status.error().message;
  const int ended = reap();
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << ended;
  EXPECT_GE(reporter_.points.size(), is_atomic() ? 1U : 2U);
  for (const Point& point : reporter_.points) {
    EXPECT_TRUE(point.verified());
    EXPECT_TRUE(point.synthetic());
  }
}

TEST_P(Processes, AKilledTargetEndsTheInitiatorSoonWithTheCause) {
  Parameters parameters{{"sizes", "64KiB"},
                        {"min_samples", "10000000"},
                        {"max_samples", "10000000"},
                        {"time_cap", "1h"},
                        {"stall_timeout", "500ms"}};
  if (is_atomic()) parameters.erase("sizes");
  start_target(parameters);
  const pid_t child = child_;
  const pid_t killer = fork();
  if (killer == 0) {
    usleep(500'000);
    kill(child, SIGKILL);
    _exit(0);
  }
  const double begin_ns = monotonic_now_ns();
  const Status status = run_initiator(parameters);
  EXPECT_LT(monotonic_now_ns() - begin_ns, 10e9);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUnavailable);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("fake1:1"));
  EXPECT_TRUE(WIFSIGNALED(reap()));
  waitpid(killer, nullptr, 0);
}

std::vector<std::string> verbs_kernels() {
  std::vector<std::string> names;
  for (const KernelRow& row : catalog())
    if (row.info().name().starts_with("verbs.")) names.push_back(row.info().name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Processes, ::testing::ValuesIn(verbs_kernels()),
                         [](const auto& param) { return param.param.substr(6); });

}  // namespace
}  // namespace railgauge
