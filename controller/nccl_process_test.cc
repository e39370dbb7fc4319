// Collectives end to end: the controller's and the agents' programs and the product's own runner on
// one machine, with the fake driver and the fake NCCL, whose ranks are processes here. The
// tests show that ranks of several agents meet, and that a rank that dies or hangs ends the task by
// the deadline, with an outcome that names the rank and its place.
#include <dirent.h>

#include <chrono>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/agent_process.h"
#include "controller/testing/controller_process.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_agent::AgentProcess;
using testing_agent::ControllerProcess;
using testing_agent::ServerBench;
using testing_agent::until;

constexpr double kDeadlineSeconds = 15;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A child of `parent` with `word` among its arguments; -1: none.
pid_t child_of(pid_t parent, const std::string& word) {
  DIR* processes = ::opendir("/proc");
  pid_t found = -1;
  while (const dirent* entry = ::readdir(processes)) {
    const std::string folder = std::string("/proc/") + entry->d_name;
    const std::string status = text_of(folder + "/status");
    if (status.find("\nPPid:\t" + std::to_string(parent) + "\n") == std::string::npos) continue;
    if (text_of(folder + "/cmdline").find(word) != std::string::npos)
      found = std::atoi(entry->d_name);
  }
  ::closedir(processes);
  return found;
}

// The runner of the agent's task, which is the keeper's child; -1: none.
pid_t runner_of(pid_t agent) {
  const pid_t keeper = child_of(agent, "--task");
  return keeper < 0 ? -1 : child_of(keeper, "--task");
}

class NcclRanks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("RAILGAUGE_LIBCUDA", RAILGAUGE_FAKE_LIBCUDA, 1);
    ::setenv("RAILGAUGE_LIBNVML", RAILGAUGE_FAKE_LIBNVML, 1);
    ::setenv("RAILGAUGE_LIBNCCL", RAILGAUGE_FAKE_LIBNCCL, 1);
    ::setenv("RAILGAUGE_FAKE_CUDA", "gpus=1", 1);
    ::setenv("RAILGAUGE_FAKE_NVML", "gpus=1", 1);
    ::setenv("RAILGAUGE_FAKE_NCCL", "processes,slow_us=500", 1);
  }
  void SetUp() override {
    bench_.write("short.yaml",
                 suite("short", "{sizes: '8,4KiB', iterations: 5, numa: any, proof_time: 100ms}"));
    bench_.write(
        "long.yaml",
        suite("long",
              "{sizes: 8, iterations: 100000, numa: any, stall_timeout: 60s, proof_time: 100ms}"));
    controller_ = std::make_unique<ControllerProcess>(bench_, std::vector<std::string>{});
    ASSERT_TRUE(controller_->wait_until_serving()) << controller_->error_text();
    stub_ = api::Control::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
    for (const char* name : {"n1", "n2", "n3"}) {
      give_gpu(name, agents_.size());
      agents_.push_back(std::make_unique<AgentProcess>(
          bench_, name, testing_agent::AgentProcessOptions{.runner = "railgauge-runner"}));
    }
    ASSERT_TRUE(until([&] { return attached() == 3; }));
  }
  // A GPU on the node's bus, which is the host's number `index` to the fakes of the agent that
  // starts next.
  void give_gpu(const std::string& node, std::size_t index) {
    ::setenv("RAILGAUGE_FAKE_FIRST_GPU", std::to_string(index).c_str(), 1);
    const std::string device =
        bench_.path(fmt::format("{}/sys/bus/pci/devices/0000:e{}:00.0", node, index));
    std::filesystem::create_directories(device);
    std::ofstream(device + "/vendor") << "0x10de\n";
    std::ofstream(device + "/class") << "0x030200\n";
    std::filesystem::create_symlink("../../drivers/nvidia", device + "/driver");
  }
  static std::string suite(const std::string& name, const std::string& parameters) {
    return fmt::format(
        "version: 1\nmetadata: {{name: {}}}\nrounds: {{max_attempts: 1}}\nstages:\n  - kernel: "
        "nccl.all_reduce\n"
        "    parameters: {}\n    deadline_seconds: {}\n    placement: {{group: all}}\n",
        name, parameters, kDeadlineSeconds);
  }
  int attached() {
    grpc::ClientContext context;
    api::NodeList list;
    if (!stub_->ListNodes(&context, {}, &list).ok()) return -1;
    int count = 0;
    for (const api::NodeInfo& node : list.nodes()) count += node.state() == "attached" ? 1 : 0;
    return count;
  }
  std::string start(const std::string& suite) {
    grpc::ClientContext context;
    api::RunRequest request;
    request.mutable_suite()->set_name(suite);
    api::RunSummary run;
    const grpc::Status status = stub_->StartRun(&context, request, &run);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return run.run_id();
  }
  // The run's only task; without a state until its round began.
  api::TaskDetail task(const std::string& run_id) {
    const api::RunDetail detail = testing_agent::run_detail(*stub_, run_id);
    EXPECT_LE(detail.tasks_size(), 1);
    return detail.tasks_size() == 1 ? detail.tasks(0) : api::TaskDetail();
  }
  // The task after `signal` came to the runner of `rank` while all measure, once it has ended.
  api::TaskDetail after_signal(int signal, int rank) {
    const std::string run_id = start("long");
    const auto measures = [&] {
      const api::TaskDetail now = task(run_id);
      return now.ranks_size() == 3 && now.ranks(rank).facts().contains("path");
    };
    const bool all_measure = until(measures);
    api::TaskDetail running = task(run_id);
    if (!all_measure) {
      ADD_FAILURE() << "not all ranks measure: " << running.ShortDebugString();
      return running;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // into the sampling
    const std::size_t agent = static_cast<std::size_t>(running.ranks(rank).node().back() - '1');
    const pid_t runner = runner_of(agents_.at(agent)->pid());
    const auto began = std::chrono::steady_clock::now();
    if (runner <= 0) {  // as a pid -1 means every process of the machine
      ADD_FAILURE() << "no runner measures; the task: " << running.ShortDebugString();
      return task(run_id);
    }
    ::kill(runner, signal);
    EXPECT_TRUE(until([&] { return task(run_id).state() == "ended"; }, 3 * kDeadlineSeconds));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    EXPECT_LT(took.count(), kDeadlineSeconds + 5) << "all ranks end by the deadline";
    for (const auto& one : agents_)
      EXPECT_EQ(child_of(one->pid(), "--task"), -1) << "a keeper is left";
    api::TaskDetail ended = task(run_id);
    std::printf("after %.1f s: %s: %s\n", took.count(), ended.outcome().c_str(),
                ended.reason().c_str());
    return ended;
  }

  ServerBench bench_;
  std::unique_ptr<ControllerProcess> controller_;
  std::unique_ptr<api::Control::Stub> stub_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;
};

TEST_F(NcclRanks, OfThreeAgentsMeetAndMeasure) {
  const std::string run_id = start("short");
  ASSERT_TRUE(until([&] { return task(run_id).state() == "ended"; }));
  api::TaskDetail ended = task(run_id);
  EXPECT_EQ(ended.outcome(), "passed") << ended.reason();
  ASSERT_EQ(ended.ranks_size(), 3);
  std::set<std::string> gpus;
  for (const api::RankDetail& rank : ended.ranks()) {
    gpus.insert(rank.facts().at("pci_address"));
    EXPECT_EQ(rank.facts().at("path"), "P2P/fake");
  }
  EXPECT_EQ(gpus.size(), 3U) << "on one host each takes another";
  grpc::ClientContext context;
  api::ResultsRequest wanted;
  wanted.set_run_id(run_id);
  api::ResultList results;
  ASSERT_TRUE(stub_->QueryResults(&context, wanted, &results).ok());
  EXPECT_EQ(results.points_size(), 12) << "two sizes, three metrics, two meanings";
  for (const api::ResultPoint& point : results.points()) {
    EXPECT_TRUE(point.point().verified());
    EXPECT_TRUE(point.point().synthetic());
  }
}

TEST_F(NcclRanks, OfWhichOneHangsEndByTheDeadlineAndTheOutcomeNamesItAndItsLastStep) {
  api::TaskDetail ended = after_signal(SIGSTOP, 1);
  ASSERT_EQ(ended.ranks_size(), 3);
  EXPECT_EQ(ended.outcome(), "timed_out");
  EXPECT_THAT(ended.reason(), HasSubstr("rank 1 on " + ended.ranks(1).node() +
                                        " (last at: sampling 8 B) has not come to rendezvous "
                                        "step "));
}

TEST_F(NcclRanks, OfWhichTheFirstHangsEndTheSameWay) {
  api::TaskDetail ended = after_signal(SIGSTOP, 0);
  ASSERT_EQ(ended.ranks_size(), 3);
  EXPECT_EQ(ended.outcome(), "timed_out");
  EXPECT_THAT(ended.reason(), HasSubstr("rank 0 on " + ended.ranks(0).node() +
                                        " (last at: sampling 8 B) has not come to rendezvous "
                                        "step "));
}

TEST_F(NcclRanks, OfWhichOneDiesEndAtOnceAndTheOutcomeNamesItAndItsLastStep) {
  const auto began = std::chrono::steady_clock::now();
  api::TaskDetail ended = after_signal(SIGKILL, 2);
  ASSERT_EQ(ended.ranks_size(), 3);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_LT(took.count(), kDeadlineSeconds) << "nobody waits for the dead";
  EXPECT_EQ(ended.outcome(), "crashed");
  EXPECT_THAT(ended.reason(),
              AllOf(HasSubstr("rank 2 on " + ended.ranks(2).node() + " (last at: sampling 8 B): "),
                    HasSubstr("killed by SIGKILL")));
}

}  // namespace
}  // namespace railgauge
