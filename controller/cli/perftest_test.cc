// Golden command lines of perftest, and that the installed one knows every option in them.
#include "controller/cli/perftest.h"

#include <array>
#include <cstdio>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {

using railgauge::api::RankDetail;
using railgauge::api::TaskDetail;
using testing::ElementsAre;
using testing::HasSubstr;
using Parameters = std::map<std::string, std::string>;

TaskDetail task_of(const std::string& kernel, const Parameters& parameters,
                   const Parameters& facts = {}) {
  TaskDetail task;
  task.set_kernel(kernel);
  task.mutable_parameters()->insert(parameters.begin(), parameters.end());
  for (const std::uint32_t number : {0U, 1U}) {
    task.add_endpoints(number == 0 ? "n1/mlx5_0:1" : "n2/mlx5_3:2");
    RankDetail& rank = *task.add_ranks();
    rank.set_rank(number);
    rank.set_node(number == 0 ? "n1" : "n2");
    auto& own = *rank.mutable_facts();
    own["device"] = number == 0 ? "mlx5_0" : "mlx5_3";
    own["port"] = number == 0 ? "1" : "2";
    own["gid_index"] = "3";
    own["gid"] = number == 0 ? "::ffff:10.0.0.1" : "::ffff:10.0.0.2";
    own["mtu_bytes"] = "4096";
    own["inline_bytes"] = "0";
    own.insert(facts.begin(), facts.end());
  }
  return task;
}

std::string commands_of(const TaskDetail& task) {
  const auto lines = perftest_lines(task);
  if (!lines) return lines.error().message;
  std::string out;
  for (const PeerLine& line : *lines) out += line.node + ": " + line.command + "\n";
  return out;
}

// What the client's line says behind what all of them have.
std::string client_of(const TaskDetail& task) {
  const auto lines = perftest_lines(task);
  if (!lines) return lines.error().message;
  const std::string& command = lines->back().command;
  const std::string place = " -d mlx5_0 -i 1 -x 3 -m 4096";
  const std::string end = " -F 10.0.0.2";
  EXPECT_NE(command.find(place), std::string::npos) << command;
  EXPECT_TRUE(command.ends_with(end)) << command;
  std::string rest = command;
  rest.erase(rest.find(place), place.size());
  return rest.substr(0, rest.size() - end.size());
}

struct Golden {
  const char* kernel;
  Parameters parameters;
  const char* client;
};
const std::array kGolden{
    Golden{"verbs.write_bw",
           {{"sizes", "64KiB"},
            {"iterations", "5000"},
            {"depth", "128"},
            {"signal_every", "100"},
            {"qps", "1"},
            {"post_list", "1"},
            {"relaxed_ordering", "true"},
            {"direction", "one_way"},
            {"duration", "0s"},
            {"transport", "RC"},
            {"qp_timeout", "14"},
            {"retry_count", "7"}},
           "ib_write_bw -s 65536 -n 5000 -t 128 -Q 100 -I 0"},
    Golden{"verbs.read_bw",
           {{"sizes", "1MiB"},
            {"iterations", "0"},
            {"depth", "16"},
            {"signal_every", "4"},
            {"qps", "4"},
            {"post_list", "2"},
            {"direction", "both"},
            {"duration", "9500ms"},
            {"relaxed_ordering", "false"},
            {"poll", "events"}},
           "ib_read_bw -s 1048576 -e -D 12 -f 1 -t 16 -Q 4 -q 4 -l 2 -b --disable_pcie_relaxed"},
    Golden{"verbs.send_bw",
           {{"sizes", "1KiB"},
            {"transport", "UD"},
            {"receive_depth", "1024"},
            {"srq", "true"},
            {"depth", "64"},
            {"signal_every", "32"},
            {"service_level", "5"},
            {"traffic_class", "106"},
            {"pkey_index", "1"},
            {"qp_timeout", "18"}},
           "ib_send_bw -s 1024 -c UD -t 64 -Q 32 -r 1024 --use-srq --disable_pcie_relaxed -I 0 -u "
           "18 -S 5 --tclass 106 "
           "--pkey_index 1"},
    Golden{"verbs.send_lat",
           {{"sizes", "2"}, {"transport", "UC"}, {"poll", "events"}},
           "ib_send_lat -s 2 -c UC -e -I 0"},
    Golden{"verbs.atomic_bw",
           {{"operation", "compare_swap"}, {"depth", "128"}, {"signal_every", "100"}},
           "ib_atomic_bw -A CMP_AND_SWAP -t 128 -Q 100 --disable_pcie_relaxed"},
    Golden{"verbs.atomic_lat",
           {{"operation", "fetch_add"}, {"iterations", "1000"}},
           "ib_atomic_lat -n 1000"},
    Golden{"verbs.read_lat", {{"sizes", "8"}, {"poll", "busy"}}, "ib_read_lat -s 8"},
    Golden{"verbs.write_lat", {{"sizes", "2:8MiB"}, {"signal_every", "1"}}, "ib_write_lat -a -I 0"},
    Golden{"verbs.write_imm_lat",
           {{"sizes", "8"}, {"huge_pages", "true"}},
           "ib_write_lat -s 8 --write_with_imm -I 0 --use_hugepages"},
    Golden{"verbs.write_imm_bw",
           {{"sizes", "8"}, {"depth", "128"}, {"signal_every", "100"}, {"connection", "rdma_cm"}},
           "ib_write_bw -s 8 --write_with_imm -t 128 -Q 100 --disable_pcie_relaxed -I 0 -R"},
};

TEST(PerftestLines, SayForBothSidesWhatTheyTook) {
  EXPECT_EQ(commands_of(task_of("verbs.write_bw", {{"sizes", "64KiB"}, {"iterations", "1000"}})),
            "n2: ib_write_bw -d mlx5_3 -i 2 -x 3 -m 4096 -s 65536 -n 1000 --disable_pcie_relaxed "
            "-I 0 -F\n"
            "n1: ib_write_bw -d mlx5_0 -i 1 -x 3 -m 4096 -s 65536 -n 1000 --disable_pcie_relaxed "
            "-I 0 -F 10.0.0.2\n");
}

TEST(PerftestLines, AreThese) {
  for (const Golden& golden : kGolden)
    EXPECT_EQ(client_of(task_of(golden.kernel, golden.parameters)), golden.client);
}

TEST(PerftestLines, CountOnEachQueuePair) {
  EXPECT_EQ(
      client_of(task_of("verbs.read_bw", {{"sizes", "8"}, {"iterations", "4000"}, {"qps", "4"}})),
      "ib_read_bw -s 8 -n 1000 -q 4 --disable_pcie_relaxed");
}

TEST(PerftestLines, TakeTheGpuAndThePathThatEachSideUsed) {
  EXPECT_EQ(client_of(task_of("verbs.write_bw", {{"sizes", "8"}},
                              {{"memory", "cuda"}, {"gpu", "gpu3"}, {"path", "dma-buf"}})),
            "ib_write_bw -s 8 --disable_pcie_relaxed -I 0 --use_cuda=3 --use_cuda_dmabuf");
  EXPECT_EQ(client_of(task_of("verbs.write_bw", {{"sizes", "8"}},
                              {{"memory", "cuda"}, {"gpu", "gpu0"}, {"path", "nvidia-peermem"}})),
            "ib_write_bw -s 8 --disable_pcie_relaxed -I 0 --use_cuda=0");
}

TEST(PerftestLines, OneLineSaysWhyThereIsNone) {
  const std::vector<std::tuple<const char*, Parameters, const char*>> kNone{
      {"verbs.write_visible_lat", {}, "it has no test of this kind"},
      {"verbs.write_bw", {{"added_cost_fraction", "0.2"}}, "no way to add cost"},
      {"verbs.read_bw", {{"flow_label", "-1"}}, "no way to set a flow label"},
      {"verbs.write_bw", {{"poll", "events"}}, "its programs that write have no events"},
      {"verbs.write_lat", {{"signal_every", "16"}}, "its latency completes each message"},
      {"verbs.send_lat", {{"iterations", "3"}}, "it takes 5 iterations or more on a queue pair"},
      {"verbs.write_lat", {{"memory", "cuda"}}, "its CPU would poll the GPU's memory"},
      {"verbs.write_lat", {{"target_memory", "cuda"}}, "its CPU would poll the GPU's memory"},
      {"verbs.write_bw", {{"memory", "staged"}}, "it copies nothing between GPU and host"},
      {"verbs.send_lat", {{"retry_count", "3"}}, "its queue pairs try 7 times again"},
  };
  for (const auto& [kernel, parameters, said] : kNone)
    EXPECT_THAT(commands_of(task_of(kernel, parameters)),
                testing::AllOf(HasSubstr(std::string("perftest: ") + kernel), HasSubstr(said)));
}

// The options that the installed program's own help names.
std::set<std::string> known_options(const std::string& program) {
  std::set<std::string> known;
  std::FILE* help = ::popen((program + " --help 2>&1").c_str(), "r");
  std::array<char, 512> line{};
  while (help != nullptr && std::fgets(line.data(), line.size(), help) != nullptr) {
    std::istringstream words{std::string(line.data())};
    for (std::string word; words >> word && word.starts_with('-');)
      known.insert(word.substr(0, word.find_first_of("=,")));
  }
  if (help != nullptr) ::pclose(help);
  return known;
}

// Debian's 4.5 has no GPU support built in and no writes with immediate data.
const std::set<std::string> kInOtherBuilds{"--write_with_imm", "--use_cuda", "--use_cuda_dmabuf"};

TEST(PerftestLines, HaveOnlyOptionsThatTheInstalledPerftestKnows) {
  if (known_options("ib_write_bw").empty()) GTEST_SKIP() << "perftest is not installed";
  for (const Golden& golden : kGolden) {
    std::istringstream words(client_of(task_of(golden.kernel, golden.parameters)));
    std::string program;
    words >> program;
    const std::set<std::string> known = known_options(program);
    for (std::string word; words >> word;) {
      const std::string option = word.substr(0, word.find('='));
      if (!option.starts_with('-') || kInOtherBuilds.contains(option)) continue;
      EXPECT_TRUE(known.contains(option)) << program << " " << option;
    }
  }
}

}  // namespace
}  // namespace railgauge::cli
