// Golden command lines of perftest, and that the installed one takes every option in them.
#include "controller/cli/peers/perftest.h"

#include <array>
#include <cstdio>
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

// The words of the client's line behind what all of them have.
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
            {"signal_every", "2"},
            {"qps", "4"},
            {"post_list", "4"},
            {"direction", "both"},
            {"duration", "9500ms"},
            {"relaxed_ordering", "false"},
            {"poll", "busy"}},
           "ib_read_bw -s 1048576 -D 12 -f 1 -t 16 -Q 2 -q 4 -l 4 -b --disable_pcie_relaxed"},
    // Both directions share 1 s where no duration is given.
    Golden{"verbs.read_bw",
           {{"sizes", "8"}, {"direction", "both"}, {"duration", "0s"}, {"iterations", "0"}},
           "ib_read_bw -s 8 -D 3 -f 1 -b --disable_pcie_relaxed"},
    Golden{"verbs.read_bw",
           {{"sizes", "8"}, {"poll", "events"}, {"iterations", "500"}},
           "ib_read_bw -s 8 -e -n 500 --disable_pcie_relaxed"},
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
           "ib_send_lat -s 2 -c UC -e --disable_pcie_relaxed -I 0"},
    Golden{"verbs.atomic_bw",
           {{"operation", "compare_swap"}, {"depth", "128"}, {"signal_every", "100"}},
           "ib_atomic_bw -A CMP_AND_SWAP -t 128 -Q 100 --disable_pcie_relaxed"},
    Golden{"verbs.atomic_lat",
           {{"operation", "fetch_add"}, {"iterations", "1000"}},
           "ib_atomic_lat -n 1000 --disable_pcie_relaxed"},
    Golden{"verbs.read_lat",
           {{"sizes", "8"}, {"poll", "busy"}},
           "ib_read_lat -s 8 --disable_pcie_relaxed"},
    Golden{"verbs.write_lat", {{"sizes", "2:8MiB"}, {"signal_every", "1"}}, "ib_write_lat -a -I 0"},
    Golden{"verbs.write_imm_lat",
           {{"sizes", "8"}, {"huge_pages", "true"}},
           "ib_write_lat -s 8 --write_with_imm -I 0 --use_hugepages"},
    Golden{"verbs.write_imm_bw",
           {{"sizes", "8"}, {"depth", "128"}, {"signal_every", "100"}, {"receive_depth", "64"}},
           "ib_write_bw -s 8 --write_with_imm -t 128 -Q 100 -r 64 --disable_pcie_relaxed -I 0"},
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

TEST(PerftestLines, FollowTheConnectionThatWasMadeAndNotTheOneAskedFor) {
  const Parameters parameters{
      {"sizes", "8"}, {"connection", "auto"}, {"traffic_class", "106"}, {"retry_count", "3"}};
  TaskDetail task = task_of("verbs.read_lat", parameters, {{"connection", "rdma_cm"}});
  for (RankDetail& rank : *task.mutable_ranks())
    (*rank.mutable_facts())["cm_address"] = rank.rank() == 0 ? "192.0.2.1" : "192.0.2.2";
  EXPECT_EQ(commands_of(task),
            "n2: ib_read_lat -d mlx5_3 -i 2 -m 4096 -s 8 --disable_pcie_relaxed -R -T 106 "
            "--retry_count 3 -F\n"
            "n1: ib_read_lat -d mlx5_0 -i 1 -m 4096 -s 8 --disable_pcie_relaxed -R -T 106 "
            "--retry_count 3 -F 192.0.2.2\n");
  // Asked for, but not what was used.
  EXPECT_EQ(client_of(task_of("verbs.read_lat", {{"sizes", "8"}, {"connection", "rdma_cm"}},
                              {{"connection", "exchange"}})),
            "ib_read_lat -s 8 --disable_pcie_relaxed");
}

TEST(PerftestLines, CompleteAsOftenAsTheTaskDidWithEachSize) {
  const Parameters parameters{{"sizes", "64KiB,1MiB,16MiB"},
                              {"depth", "128"},
                              {"signal_every", "100"},
                              {"relaxed_ordering", "true"}};
  const auto lines = perftest_lines(task_of("verbs.read_bw", parameters));
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 6U);
  EXPECT_THAT((*lines)[0].command, HasSubstr(" -s 65536 -t 128 -Q 100 "));
  EXPECT_THAT((*lines)[2].command, HasSubstr(" -s 1048576 -t 128 -Q 8 "));
  EXPECT_THAT((*lines)[4].command, HasSubstr(" -s 16777216 -t 128 -Q 1 "));
  // One launch over all sizes has one interval.
  const auto all = [](const char* signal_every) {
    return perftest_lines(
        task_of("verbs.read_bw", {{"sizes", "2:8MiB"}, {"signal_every", signal_every}}));
  };
  EXPECT_EQ(all("1")->size(), 2U);
  EXPECT_THAT(all("1")->front().command, HasSubstr(" -a -Q 1 "));
  EXPECT_EQ(all("100")->size(), 2U * 23);
}

TEST(PerftestLines, NameNoAddressOfAPathWithoutAGlobalHeader) {
  EXPECT_EQ(commands_of(task_of("verbs.read_lat", {{"sizes", "8"}}, {{"global_route", "false"}})),
            "n2: ib_read_lat -d mlx5_3 -i 2 -m 4096 -s 8 --disable_pcie_relaxed -F\n"
            "n1: ib_read_lat -d mlx5_0 -i 1 -m 4096 -s 8 --disable_pcie_relaxed -F 10.0.0.2\n");
  EXPECT_EQ(client_of(task_of("verbs.read_lat", {{"sizes", "8"}}, {{"global_route", "true"}})),
            "ib_read_lat -s 8 --disable_pcie_relaxed");
}

TEST(PerftestLines, NameEachRanksOwnPartition) {
  TaskDetail task = task_of("verbs.read_lat", {{"sizes", "8"}, {"pkey_index", "0"}});
  (*task.mutable_ranks(1)->mutable_facts())["pkey_index"] = "3";
  (*task.mutable_ranks(0)->mutable_facts())["pkey_index"] = "0";
  const auto lines = perftest_lines(task);
  ASSERT_TRUE(lines);
  EXPECT_THAT((*lines)[0].command, HasSubstr(" --pkey_index 3 "));
  EXPECT_THAT((*lines)[1].command, testing::Not(HasSubstr("--pkey_index")));
}

TEST(PerftestLines, TakeTheOrderingThatWasUsed) {
  const auto line = [](const char* asked, const char* used) {
    return client_of(task_of("verbs.write_bw", {{"sizes", "8"}, {"relaxed_ordering", asked}},
                             {{"relaxed_ordering", used}}));
  };
  EXPECT_THAT(line("auto", "on"), testing::Not(HasSubstr("--disable_pcie_relaxed")));
  EXPECT_THAT(line("auto", "off"), HasSubstr("--disable_pcie_relaxed"));
}

TEST(PerftestLines, TakeTheGpuAndThePathThatEachSideUsed) {
  EXPECT_EQ(client_of(task_of("verbs.write_bw", {{"sizes", "8"}},
                              {{"memory", "cuda"}, {"gpu", "gpu3"}, {"path", "dma-buf"}})),
            "CUDA_DEVICE_ORDER=PCI_BUS_ID ib_write_bw -s 8 --disable_pcie_relaxed -I 0 "
            "--use_cuda=3 --use_cuda_dmabuf");
  for (const auto& [mapping, option] : {std::pair{"pcie: why", " --use_cuda_pcie_mapping"},
                                        std::pair{"data-direct: why", " --use_data_direct"}})
    EXPECT_THAT(client_of(task_of("verbs.write_bw", {{"sizes", "8"}},
                                  {{"memory", "cuda"},
                                   {"gpu", "gpu3"},
                                   {"path", "dma-buf"},
                                   {"dmabuf_mapping", mapping}})),
                testing::EndsWith(option));
  EXPECT_EQ(client_of(task_of("verbs.write_bw", {{"sizes", "8"}},
                              {{"memory", "cuda"}, {"gpu", "gpu0"}, {"path", "nvidia-peermem"}})),
            "CUDA_DEVICE_ORDER=PCI_BUS_ID ib_write_bw -s 8 --disable_pcie_relaxed -I 0 "
            "--use_cuda=0");
}

TEST(PerftestLines, OneLineSaysWhyThereIsNone) {
  const std::vector<std::tuple<const char*, Parameters, const char*>> kNone{
      {"verbs.write_visible_lat", {}, "it has no test of this kind"},
      {"verbs.write_bw", {{"added_cost_fraction", "0.2"}}, "no way to add cost"},
      {"verbs.read_bw", {{"flow_label", "-1"}}, "not every version sets a flow label"},
      {"verbs.write_bw",
       {{"devices", "mlx5_0:1,mlx5_1:1"}},
       "it measures one port of each host, not several at once (devices)"},
      {"verbs.read_bw",
       {{"poll", "events"}, {"duration", "5s"}},
       "its stretch of time has no events"},
      {"verbs.read_bw", {{"signal_every", "2048"}}, "it takes signal_every of at most 1024"},
      {"verbs.read_bw", {{"depth", "16000"}}, "it takes depth of at most 15000"},
      {"verbs.read_bw",
       {{"sizes", "8"}, {"post_list", "8"}, {"signal_every", "32"}},
       "a list of 8 is a multiple of its interval of completions, and 32 is no part of it"},
      {"verbs.read_bw",
       {{"sizes", "8"}, {"post_list", "8"}, {"signal_every", "8"}, {"iterations", "1001"}},
       "its count on a queue pair is whole lists, and 1001 are not, of 8"},
      {"verbs.send_bw",
       {{"sizes", "8"}, {"srq", "true"}, {"qps", "16"}, {"receive_depth", "8"}},
       "its shared receive queue holds a receive for each queue pair"},
      {"verbs.write_imm_lat", {{"memory", "cuda"}}, "its latency of writes is not for GPU memory"},
      {"verbs.write_bw", {{"poll", "events"}}, "its programs that write have no events"},
      {"verbs.write_lat", {{"signal_every", "16"}}, "its latency completes each message"},
      {"verbs.send_lat", {{"iterations", "3"}}, "it takes 5 iterations or more on a queue pair"},
      {"verbs.write_lat", {{"memory", "cuda"}}, "its latency of writes is not for GPU memory"},
      {"verbs.write_lat",
       {{"target_memory", "cuda"}},
       "its latency of writes is not for GPU memory"},
      {"verbs.write_bw", {{"memory", "staged"}}, "it copies nothing between GPU and host"},
      {"verbs.send_lat", {{"retry_count", "3"}}, "its queue pairs try 7 times again"},
  };
  for (const auto& [kernel, parameters, said] : kNone)
    EXPECT_THAT(commands_of(task_of(kernel, parameters)),
                testing::AllOf(HasSubstr(std::string("perftest: ") + kernel), HasSubstr(said)));
}

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* running = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  std::array<char, 512> line{};
  while (running != nullptr && std::fgets(line.data(), line.size(), running) != nullptr)
    out += line.data();
  if (running != nullptr) ::pclose(running);
  return out;
}

// Debian's 4.5 has no GPU support built in, and no writes with immediate data, nor their receives.
std::string without_what_other_builds_have(const std::string& command) {
  const bool has_immediate = command.find(" --write_with_imm") != std::string::npos;
  std::istringstream words(command);
  std::string out;
  for (std::string word; words >> word;) {
    const bool is_depth = has_immediate && word == "-r";
    if (is_depth) words >> word;
    if (!is_depth && word != "--write_with_imm" && !word.starts_with("--use_cuda"))
      out += word + " ";
  }
  return out;
}

// The installed programs read the lines themselves, with a device that nobody has: they must get as
// far as looking for it. An option that their parser refuses ends before.
class OnTheInstalledPerftest : public testing::Test {
 protected:
  void SetUp() override {
    if (output_of("ib_write_bw --version").find("Version") == std::string::npos)
      GTEST_SKIP() << "perftest is not installed";
  }
  static std::string answer(TaskDetail task, const char* more = "") {
    for (RankDetail& rank : *task.mutable_ranks()) {
      (*rank.mutable_facts())["device"] = "nobodys0";
      (*rank.mutable_facts())["gid"] = "::ffff:127.0.0.1";
    }
    const auto lines = perftest_lines(task);
    if (!lines) return lines.error().message;
    std::string out;
    for (const PeerLine& line : *lines)
      out += output_of("timeout 10 " + without_what_other_builds_have(line.command) + more);
    return out;
  }
  static bool looked_for_the_device(const std::string& answer) {
    const bool none = answer.find("Did not detect devices") != std::string::npos;
    return none || answer.find("nobodys0 not found") != std::string::npos;
  }
};

TEST_F(OnTheInstalledPerftest, EachLineIsReadToItsEnd) {
  for (const Golden& golden : kGolden) {
    const std::string said = answer(task_of(golden.kernel, golden.parameters));
    EXPECT_TRUE(looked_for_the_device(said)) << golden.client << "\n" << said;
  }
  for (const char* kernel : {"verbs.read_lat", "verbs.send_bw", "verbs.atomic_bw"}) {
    const std::string said = answer(task_of(
        kernel,
        {{"sizes", "8"}, {"traffic_class", "106"}, {"retry_count", "3"}, {"pkey_index", "1"}},
        {{"connection", "rdma_cm"}}));
    EXPECT_TRUE(looked_for_the_device(said)) << kernel << "\n" << said;
  }
}

TEST_F(OnTheInstalledPerftest, AnOptionThatItDoesNotTakeIsSeen) {
  const TaskDetail task = task_of("verbs.read_bw", {{"sizes", "8"}});
  EXPECT_TRUE(looked_for_the_device(answer(task)));
  for (const char* wrong : {" --no_such_option", " -Q 2048", " -l 4 -Q 8", " -T 5"})
    EXPECT_FALSE(looked_for_the_device(answer(task, wrong))) << wrong;
}

}  // namespace
}  // namespace railgauge::cli
