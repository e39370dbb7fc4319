// Content of the busy guard's sources, mutated from fixed seeds: nothing may crash or wait, and
// each reason is one line fit for the wire. LLVMFuzzerTestOneInput is libFuzzer's entry; here a
// plain test drives it. Run it under the asan preset too.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "agent/busy/judge.h"
#include "agent/busy/kubelet.h"
#include "agent/busy/options.h"
#include "agent/busy/own.h"
#include "agent/busy/readers.h"
#include "agent/testing/mutator.h"
#include "agent/testing/temp_dir.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr int kTexts = 50'000;
constexpr int kTrees = 100;

void expect_one_line(const std::string& text) {
  ASSERT_EQ(valid_utf8(text), text);
  ASSERT_TRUE(std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
      << testing::PrintToString(text);
}

void expect_lines(const BusyReasons& reasons) {
  for (const BusyReason& reason : reasons) expect_one_line(reason.text);
}

void parse(const std::string& text) {
  const double load = parse_load(text).value_or(0);
  ASSERT_TRUE(std::isfinite(load) && load >= 0) << text;
  const double ticks = parse_process_stat(text).value_or(ProcessFacts{}).cpu_ticks;
  ASSERT_TRUE(std::isfinite(ticks) && ticks >= 0) << text;
  for (const std::string& job : jobs_in_cgroup_paths(text)) ASSERT_EQ(job.find('/'), job.npos);
  expect_lines(judge_jobs(jobs_in_cgroup_paths(text), {}));
  for (const std::string& word : hook_words(text)) ASSERT_FALSE(word.empty());
  if (kubelet::ListAnswer answer; answer.ParseFromString(text))
    expect_lines(judge_pods(devices_of(answer), ""));
}

// A node with the same bytes in every file that a source reads and, where legal, in the files'
// names.
class Node {
 public:
  void fill(const std::string& bytes) {
    const std::string stepd = "cgroup/system.slice/slurmstepd.scope/";
    for (const std::string& path : {std::string("marker"), std::string("proc/loadavg"),
                                    std::string("proc/self/cgroup"), stepd + "job_7/cgroup.events"})
      root_.write(path, bytes);
    std::string name = bytes.substr(0, 100);
    std::erase_if(name, [](char c) { return c == '/' || c == '\0'; });
    if (name.empty() || name == "." || name == "..") name = "1";
    for (const std::string& folder : {std::string("jobs/"), stepd, std::string("cgroup/freezer/")})
      root_.write(folder + name + (folder == "jobs/" ? "" : "/x"), "");
    if (!last_.empty() && last_ != name) std::filesystem::remove(root_ / ("jobs/" + last_));
    last_ = name;
  }
  void read() const {
    const auto marker = read_marker(root_ / "marker");
    ASSERT_TRUE(marker && *marker);
    expect_one_line(**marker);
    const auto load = read_load(root_ / "proc");
    if (!load) expect_one_line(load.error().message);
    const auto view = read_slurm_jobs(root_ / "cgroup", root_ / "jobs", root_ / "proc");
    ASSERT_TRUE(view) << view.error().message;
    ASSERT_TRUE(view->present);
    expect_lines(judge_jobs(view->jobs, view->ours));
  }

 private:
  TempDir root_;
  std::string last_;
};

}  // namespace
}  // namespace railgauge::agent

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::agent;
  const google::protobuf::LogSilencer quiet;  // about answers that are no UTF-8
  parse(std::string(data, data + size));
  return 0;
}

namespace railgauge::agent {
namespace {

std::vector<std::string> seeds() {
  kubelet::ListAnswer answer;
  kubelet::Pod& pod = *answer.add_pods();
  pod.set_name("training-0");
  pod.set_namespace_("ml");
  kubelet::Container& container = *pod.add_containers();
  kubelet::Devices& devices = *container.add_devices();
  devices.set_resource("nvidia.com/gpu");
  devices.add_ids("GPU-1");
  container.add_claims()->add_devices()->set_driver("gpu.nvidia.com");
  return {answer.SerializeAsString(),
          "0.52 0.58 0.59 1/467 12345\n",
          "4711 (a (b) c) S 1 4711 4711 0 -1 4194304 1 0 0 0 12 34 5 6 20 0 1 0 99 0 0\n",
          "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n",
          "12:freezer:/slurm/uid_1000/job_7/step_batch\n3:cpuset:/docker/job_8\n",
          "0::/slow.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0\n",
          "populated 1\nfrozen 0\n",
          "/usr/bin/hook --of \"this node\"",
          "maintenance until noon\nsecond line",
          "1e308 nan inf -1",
          "",
          std::string(5000, '9')};
}

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

TEST(BusyFuzz, AnyTextIsParsedOrRefused) {
  Mutator mutator(3);
  const std::vector<std::string> from = seeds();
  for (const std::string& seed : from) run(seed);
  for (int i = 0; i < kTexts; ++i) {
    run(mutator.pick(from));
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "round " << i;
  }
}

TEST(BusyFuzz, AnyNodeIsReadAndItsReasonsAreLines) {
  Mutator mutator(4);
  const std::vector<std::string> from = seeds();
  Node node;
  for (int i = 0; i < kTrees; ++i) {
    node.fill(mutator.pick(from));
    node.read();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "round " << i;
  }
}

}  // namespace
}  // namespace railgauge::agent
