// A session on a real GPU: it opens, reads clocks, and does not count its own context as a user.
#include "kernels/gpu/session/session.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <map>
#include <string>

#include <gmock/gmock.h>

#include "kernels/core/base/fd.h"
#include "kernels/dl/nvml.h"
#include "kernels/fakes/recorder.h"
#include "kernels/gpu/session/usage.h"
#include "kernels/testing/gpu_presence.h"

namespace railgauge::gpu {
namespace {

KernelInfo info() {
  return InfoBuilder("test.session", 1, "a kernel of this test")
      .apply([](InfoBuilder& builder) { add_session_parameters(builder); })
      .build();
}

class SessionOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override { need_whole_gpus(); }
};

TEST_F(SessionOnAGpu, SeesTheClocksOfThePoint) {
  const auto params = Params::parse(info(), {{"busy", "measure"}});
  fake::RankResult told;
  fake::Recorder recorder(told);
  Context context{*params, recorder, fake::test_clock(), "gpu0", 0, false};
  auto session = Session::open(context);
  ASSERT_TRUE(session) << session.error().message;
  session->begin_point();
  session->report(context, Point());
  const Point& point = told.points.back();
  EXPECT_FALSE(point.synthetic());
  EXPECT_GT(std::stod(point.facts().at("sm_clock_mhz")), 0);
  EXPECT_NE(point.facts().at("throttle_reasons"), "unknown");
  for (const auto& [name, value] : told.facts)
    std::printf("%s = %s\n", name.c_str(), value.c_str());
  for (const auto& [name, value] : point.facts())
    std::printf("point: %s = %s\n", name.c_str(), value.c_str());
}

TEST_F(SessionOnAGpu, ASecondSessionOfThisProcessIsNotDisturbedByTheFirst) {
  if (const auto use = use_nvml(); !use) GTEST_SKIP() << use.error().message;
  const auto usage = gpu_usage();
  ASSERT_FALSE(usage.empty()) << "NVML shows no GPU, CUDA does";
  for (const GpuUsage& gpu : usage) {
    EXPECT_TRUE(gpu.told) << gpu.pci_address << ": NVML does not tell its processes";
    if (!gpu.processes.empty())
      GTEST_SKIP() << gpu.pci_address << ": in use by " << users_in_words(gpu);
  }
  const auto params = Params::parse(info(), {});
  fake::RankResult told;
  fake::Recorder recorder(told);
  Context context{*params, recorder, fake::test_clock(), "gpu0", 0, false};
  const auto first = Session::open(context);
  const auto second = Session::open(context);
  ASSERT_TRUE(first) << first.error().message;
  // Also in a container that shows the host's process numbers: ours was learned from the first.
  ASSERT_TRUE(second) << second.error().message;
}

// Another process: this program, which runs the one test that is disabled otherwise.
class OtherProcess {
 public:
  static constexpr int kPatienceMs = 60'000;

  OtherProcess() {
    std::array<int, 2> down{-1, -1};
    std::array<int, 2> up{-1, -1};
    if (pipe(down.data()) != 0 || pipe(up.data()) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(down[0], STDIN_FILENO);
      dup2(up[1], STDOUT_FILENO);
      for (const int fd : {down[0], down[1], up[0], up[1]}) close(fd);
      execl("/proc/self/exe", "holder", "--gtest_filter=Holder.*",
            "--gtest_also_run_disabled_tests", nullptr);
      _exit(127);
    }
    close(down[0]);
    close(up[1]);
    in_ = Fd(down[1]);
    out_ = Fd(up[0]);
  }
  ~OtherProcess() { end(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  // False when it ended before.
  [[nodiscard]] bool wait_until_it_holds() const {
    std::string said;
    std::array<char, 256> part{};
    while (said.find("holding") == std::string::npos) {
      pollfd ready{.fd = out_.get(), .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, kPatienceMs) <= 0) return false;
      const ssize_t got = read(out_.get(), part.data(), part.size());
      if (got <= 0) return false;
      said.append(part.data(), static_cast<std::size_t>(got));
    }
    return true;
  }
  void end() {
    in_.reset();
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  Fd in_;
  Fd out_;
};

TEST(Holder, DISABLED_KeepsAContextUntilItsInputEnds) {
  const auto gpu = Gpu::open("gpu0");
  ASSERT_TRUE(gpu) << gpu.error().message;
  std::printf("holding\n");
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

TEST_F(SessionOnAGpu, AnotherProcessWithAContextWaivesItOrIsMeasuredBeside) {
  if (const auto use = use_nvml(); !use) GTEST_SKIP() << use.error().message;
  for (const GpuUsage& gpu : gpu_usage())
    if (!gpu.told || !gpu.processes.empty())
      GTEST_SKIP() << gpu.pci_address << ": NVML does not tell its processes, or it is in use";
  OtherProcess other;
  ASSERT_TRUE(other.wait_until_it_holds());
  fake::RankResult told;
  fake::Recorder recorder(told);
  const auto open = [&](const std::map<std::string, std::string>& given) {
    const auto params = Params::parse(info(), given);
    Context context{*params, recorder, fake::test_clock(), "gpu0", 0, false};
    return Session::open(context);
  };
  const auto waived = open({{"busy", "waive"}});
  ASSERT_FALSE(waived) << "the other process's context was not seen";
  EXPECT_EQ(waived.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(waived.error().message, ::testing::HasSubstr("in use by"));
  std::printf("%s\n", waived.error().message.c_str());
  const auto beside = open({{"busy", "measure"}});
  EXPECT_TRUE(beside) << beside.error().message;
  other.end();
  const auto alone = open({{"busy", "waive"}});
  EXPECT_TRUE(alone) << alone.error().message;
}

}  // namespace
}  // namespace railgauge::gpu
