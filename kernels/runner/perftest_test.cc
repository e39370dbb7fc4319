// perftest's command lines: their meaning for our kernels, the refused options, and the table.
#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalog.h"
#include "kernels/peers/perftest/rows.h"
#include "kernels/peers/perftest/table.h"
#include "kernels/runner/peer_command.h"

namespace railgauge {
namespace {

using Parameters = std::map<std::string, std::string>;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;
using Words = std::vector<std::string>;

Result<PerftestCall> read(const char* program, const Words& words) {
  return read_perftest_call(*find_perftest_program(program), words, find_kernel);
}
PerftestCall call(const char* program, const Words& words) {
  auto out = read(program, words);
  EXPECT_TRUE(out) << out.error().message;
  return out.value_or(PerftestCall{});
}
std::string refusal(const char* program, const Words& words) {
  const auto out = read(program, words);
  if (out) return "accepted";
  EXPECT_EQ(out.error().code, Code::kInvalidArgument);
  EXPECT_EQ(out.error().message.find('\n'), std::string::npos);
  return out.error().message;
}

TEST(PerftestOptions, AClientHasTheToolsDefaultsUnderWhatItSays) {
  const PerftestCall said = call(
      "ib_write_bw", {"-d", "mlx5_0", "-i", "2", "-x3", "--size=4K", "-t", "64", "-q", "4",
                      "--iters", "1000", "-m", "4096", "-S", "5", "--tclass=106", "-F", "node2"});
  EXPECT_EQ(said.kernel, "verbs.write_bw");
  EXPECT_EQ(said.endpoint, "mlx5_0:2");
  EXPECT_EQ(said.host, "node2");
  EXPECT_EQ(said.port, kPerftestPort);
  EXPECT_EQ(said.parameters, (Parameters{{"gid_index", "3"},
                                         {"sizes", "4KiB"},
                                         {"depth", "64"},
                                         {"signal_every", "64"},
                                         {"qps", "4"},
                                         {"iterations", "4000"},
                                         {"mtu", "4096"},
                                         {"service_level", "5"},
                                         {"traffic_class", "106"},
                                         {"inline_bytes", "0"},
                                         {"relaxed_ordering", "on"}}));
}

TEST(PerftestOptions, AServerSaysNoMoreThanItWasTold) {
  const PerftestCall said = call("ib_send_lat", {"-d", "rxe0", "-p", "20000", "-I", "0"});
  EXPECT_FALSE(said.host);
  EXPECT_EQ(said.port, 20000);
  EXPECT_EQ(said.endpoint, "rxe0:1");
  EXPECT_EQ(said.parameters, (Parameters{{"inline_bytes", "0"}}));
}

TEST(PerftestOptions, EachMeansAParameter) {
  EXPECT_THAT(
      call("ib_send_bw", {"-c", "UD", "-r", "256", "--use-srq", "-e", "-l8", "-s", "1024", "-Q",
                          "16", "-u", "18", "--pkey_index", "1", "h"})
          .parameters,
      IsSupersetOf({Pair("transport", "UD"), Pair("receive_depth", "256"), Pair("srq", "true"),
                    Pair("poll", "events"), Pair("post_list", "8"), Pair("signal_every", "16"),
                    Pair("qp_timeout", "18"), Pair("pkey_index", "1")}));
  EXPECT_THAT(call("ib_write_bw", {"-ab", "-D", "5", "--disable_pcie_relaxed", "h"}).parameters,
              IsSupersetOf({Pair("sizes", "2:8MiB"), Pair("direction", "both"),
                            Pair("duration", "5s"), Pair("relaxed_ordering", "off")}));
  EXPECT_THAT(call("ib_atomic_lat", {"-A", "CMP_AND_SWAP", "h"}).parameters,
              Contains(Pair("operation", "compare_swap")));
  EXPECT_THAT(call("ib_read_lat", {"-D", "3", "h"}).parameters,
              IsSupersetOf({Pair("iterations", "0"), Pair("time_cap", "3s")}));
  EXPECT_THAT(call("ib_send_bw", {"-a", "-c", "UD", "-m", "2048", "h"}).parameters,
              Contains(Pair("sizes", "2:2KiB")));
  EXPECT_THAT(
      call("ib_send_lat", {"-c", "SRD", "-e", "-X", "2", "--send_with_imm", "h"}).parameters,
      IsSupersetOf(
          {Pair("transport", "SRD"), Pair("completion_vector", "2"), Pair("immediate", "true")}));
  EXPECT_THAT(call("ib_atomic_bw", {"-c", "DC", "h"}).parameters,
              Contains(Pair("transport", "DC")));
  EXPECT_EQ(call("ib_write_lat", {"--write_with_imm", "h"}).kernel, "verbs.write_imm_lat");
  EXPECT_TRUE(call("ib_write_bw", {"--report_gbits"}).gigabits);
  EXPECT_THAT(call("ib_read_bw", {"-o", "4", "--odp", "h"}).parameters,
              IsSupersetOf({Pair("outstanding", "4"), Pair("on_demand", "true")}));
  EXPECT_TRUE(call("ib_read_lat", {"-U"}).raw_samples);
  EXPECT_EQ(call("ib_read_lat", {"--report-histogrm"}).samples, PerftestSamples::kSorted);
  EXPECT_EQ(call("ib_write_bw", {"-w", "90", "--report_gbits", "h"}).least_bandwidth, 90);
  EXPECT_THAT(call("ib_write_bw", {"-W", "counters/a,hw_counters/b"}).counters,
              ElementsAre("counters/a", "hw_counters/b"));
  EXPECT_THAT(call("ib_send_bw", {"--data_validation", "h"}).infos,
              ElementsAre(HasSubstr("compared byte by byte")));
  EXPECT_EQ(call("ib_write_bw", {"--out_json", "--out_json_file=x.json"}).file, "x.json");
  EXPECT_EQ(call("ib_write_bw", {"--out_json_file=x.json", "--out_json"}).file, "x.json");
  EXPECT_THAT(call("ib_write_bw", {"--set", "verify=false", "h"}).parameters,
              Contains(Pair("verify", "false")));
}

TEST(PerftestOptions, GpuMemoryIsRegisteredAsTheToolWouldAndNeverSentInline) {
  const PerftestCall said = call("ib_write_bw", {"--use_cuda=3", "h"});
  EXPECT_THAT(said.parameters,
              IsSupersetOf({Pair("memory", "cuda"), Pair("gpu", "3"), Pair("inline_bytes", "0"),
                            Pair("registration", "nvidia-peermem")}));
  EXPECT_THAT(said.infos, ElementsAre(HasSubstr("--use_cuda applies to both sides")));
  for (const Words& words :
       {Words{"--use_cuda=3", "--use_cuda_dmabuf"}, Words{"--use_cuda_dmabuf", "--use_cuda=3"}})
    EXPECT_EQ(call("ib_write_bw", words).parameters.at("registration"), "dma-buf");
}

TEST(PerftestOptions, EachProgramOfTheCatalogTakesWhatAllOfThemHave) {
  for (const PerftestProgram& program : perftest_programs()) {
    const PerftestCall said =
        call(program.name.data(),
             {"-R", "--use_hugepages", "--use_cuda=1", "--use_cuda_dmabuf", "--flow_label=7", "-S",
              "3", "-T", "106", "-z", "--cpu_util", "--disable_pcie_relaxed", "h"});
    EXPECT_THAT(said.parameters,
                IsSupersetOf({Pair("connection", "rdma_cm"), Pair("huge_pages", "true"),
                              Pair("memory", "cuda"), Pair("registration", "dma-buf"),
                              Pair("flow_label", "7"), Pair("service_level", "3"),
                              Pair("traffic_class", "106")}))
        << program.name;
    EXPECT_EQ(said.infos.size(), 3U) << program.name;  // -z, --cpu_util, --use_cuda
  }
}

TEST(PerftestOptions, TheMappingOfADmaBufIsForced) {
  const auto mapping = [](const Words& words) {
    return call("ib_write_bw", words).parameters.at("dmabuf_mapping");
  };
  EXPECT_EQ(mapping({"--use_cuda=0", "--use_cuda_dmabuf", "--use_cuda_pcie_mapping", "h"}), "pcie");
  EXPECT_EQ(mapping({"--use_cuda=0", "--use_cuda_dmabuf", "--use_data_direct", "h"}),
            "data-direct");
}

TEST(PerftestOptions, LatenciesOfWritesAndAtomicsAreNeverRelaxed) {
  const auto ordering = [](const char* program, const Words& words) {
    const auto parameters = call(program, words).parameters;
    const auto found = parameters.find("relaxed_ordering");
    return found == parameters.end() ? "" : found->second;
  };
  EXPECT_EQ(ordering("ib_read_bw", {"h"}), "on");
  EXPECT_EQ(ordering("ib_read_bw", {"--disable_pcie_relaxed", "h"}), "off");
  EXPECT_EQ(ordering("ib_read_lat", {"h"}), "on");
  EXPECT_EQ(ordering("ib_send_lat", {"h"}), "on");
  EXPECT_EQ(ordering("ib_send_lat", {"--disable_pcie_relaxed", "h"}), "off");
  EXPECT_EQ(ordering("ib_write_lat", {"h"}), "");
  EXPECT_EQ(ordering("ib_write_lat", {"--write_with_imm", "--disable_pcie_relaxed", "h"}), "");
  EXPECT_EQ(ordering("ib_atomic_bw", {"--disable_pcie_relaxed", "h"}), "");
}

TEST(PerftestOptions, AStreamOfWritesWithImmediateDataHasReceives) {
  EXPECT_THAT(call("ib_write_bw", {"--write_with_imm", "-r", "64", "h"}).parameters,
              Contains(Pair("receive_depth", "64")));
}

TEST(PerftestOptions, WordsMayBeCutAndTheHostMayStandAnywhere) {
  const PerftestCall said = call("ib_write_bw", {"node2", "--iter=7", "-F"});
  EXPECT_EQ(said.host, "node2");
  EXPECT_EQ(said.parameters.at("iterations"), "7");
}

TEST(PerftestOptions, ACountBesideBothDirectionsIsSaidToHaveNoEffect) {
  const PerftestCall said = call("ib_read_bw", {"-b", "-n", "100", "h"});
  EXPECT_FALSE(said.parameters.contains("iterations"));
  EXPECT_THAT(said.infos, ElementsAre(HasSubstr("-n changes nothing beside -b")));
}

TEST(PerftestOptions, TheKindOfMemoryThatIsTheHostsReplacesTheGpus) {
  for (const Words& words :
       {Words{"--use_cuda=1", "--cuda_mem_type=4", "h"},
        Words{"--cuda_mem_type=4", "--use_cuda=1", "--use_cuda_dmabuf", "h"}}) {
    const PerftestCall said = call("ib_write_bw", words);
    EXPECT_EQ(said.parameters.at("memory"), "host");
    EXPECT_FALSE(said.parameters.contains("gpu"));
    EXPECT_FALSE(said.parameters.contains("registration"));
  }
  EXPECT_EQ(call("ib_write_bw", {"--use_cuda=1", "--cuda_mem_type=0", "h"}).parameters.at("memory"),
            "cuda");
}

TEST(PerftestOptions, WhatIsNotHonouredIsOneLineThatNamesIt) {
  const std::vector<std::tuple<const char*, Words, const char*>> kWrong{
      {"ib_write_lat", {"-q", "2"}, "-q: verbs.write_lat has no such choice: latency has one"},
      {"ib_write_lat", {"-e"}, "-e: verbs.write_lat has no such choice: a write is waited for"},
      {"ib_read_bw", {"-I", "8"}, "-I: verbs.read_bw has no such choice: what is fetched"},
      {"ib_write_bw", {"--use-srq"}, "--use-srq: verbs.write_bw has no such choice: only streams"},
      {"ib_send_lat", {"-r", "64"}, "-r: verbs.send_lat has no such choice: only streams of sends"},
      {"ib_write_bw", {"-O"}, "-O: name the ports with --set devices="},
      {"ib_atomic_bw", {"-s", "8"}, "-s: verbs.atomic_bw has no such choice: atomics have 8"},
      {"ib_write_bw", {"--run_infinitely"}, "--run_infinitely: a run has an end"},
      {"ib_write_bw", {"-c", "RawEth"}, "-c: \"RawEth\": RC, UC, UD, XRC, DC and SRD are measured"},
      {"ib_write_bw", {"-c", "UD"}, "-c: \"UD\" is not RC, UC, XRC, DC or SRD"},
      {"ib_write_lat", {"-c", "SRD"}, "-c: \"SRD\" is not RC, UC, XRC or DC"},
      {"ib_atomic_bw", {"-c", "SRD"}, "-c: \"SRD\" is not RC, XRC or DC"},
      {"ib_write_bw", {"--tx-dept", "x"}, "--tx-depth: \"x\""},
      {"ib_write_bw", {"-t", "0"}, "-t: 0 is out of range; 1 to 16384 are allowed"},
      {"ib_write_bw",
       {"--qps=3"},
       "option \"--qps\" is not known here; --help names what is; did you mean \"--qp\"?"},
      {"ib_write_bw", {"-dZ", "-8"}, "option \"-8\" is not known here"},
      {"ib_write_bw", {"-o", "4"}, "-o: verbs.write_bw has no such choice: only what is fetched"},
      {"ib_write_bw", {"-Z"}, "-Z: it is for raw Ethernet frames"},
      {"ib_write_bw",
       {"--cuda_mem_type=1"},
       "\"1\": 0, a GPU's memory, and 4, the host's, are measured here"},
      {"ib_write_bw", {"--report-both"}, "--report-both: one direction alone is measured; add -b"},
      {"ib_write_lat", {"--report-both"}, "--report-both: one direction alone is measured"},
      {"ib_write_bw", {"--use_musa=0"}, "--use_musa: GPU memory is CUDA's or HIP's here"},
      {"ib_write_bw", {"-H"}, "-U and -H: ib_write_bw measures bandwidth and message rate"},
      {"ib_read_lat", {"--output=bandwidth"}, "--output=bandwidth: ib_read_lat measures latency"},
      {"ib_read_bw", {"--output=speed"}, "\"speed\" is not bandwidth, message_rate or latency"},
      {"ib_read_lat", {"-w", "3"}, "-w and -y: ib_read_lat measures latency"},
      {"ib_read_bw", {"-w", "x"}, "-w: \"x\" is no number from 0"},
      {"ib_read_bw", {"-w", "3", "--format", "json", "h"}, "floors and counters go with the table"},
      {"ib_read_bw", {"-w", "3"}, "a floor is judged by the client"},
      {"ib_read_bw", {"-W", "x"}, "\"x\" is not counters/NAME or hw_counters/NAME"},
      {"ib_read_bw", {"-W", "counters/../x"}, "is not counters/NAME"},
      {"ib_write_bw", {"-n"}, "-n needs a value"},
      {"ib_write_bw", {"-n", "6000000", "-q", "2"}, "-n: 12000000 is out of range"},
      {"ib_write_bw", {"-D", "3", "-n", "4"}, "-D and -n exclude each other"},
      {"ib_write_bw", {"-D", "1.5"}, "-D: \"1.5\" is no whole number of seconds"},
      {"ib_write_bw", {"-p", "70000"}, "-p: \"70000\" is no port"},
      {"ib_write_bw", {"-i", "1"}, "-i: names a port of a device"},
      {"ib_write_bw", {"a", "b"}, "only one host"},
      {"ib_send_bw", {"-a", "-c", "UD"}, "-a: datagrams end at the MTU"},
      {"ib_read_bw", {"--write_with_imm"}, "--write_with_imm: ib_read_bw writes nothing"},
      {"ib_write_bw", {"-L", "3"}, "-L: \"3\": the hop limit is 64 here"},
      {"ib_write_bw",
       {"--cqe_poll", "32"},
       "--cqe_poll: \"32\": a poll takes up to 16 completions"},
      {"ib_write_bw", {"--set", "dept=3"}, "parameter \"dept\" is unknown"},
  };
  for (const auto& [program, words, said] : kWrong)
    EXPECT_THAT(refusal(program, words), HasSubstr(said));
}

// Rows without an own word or letter, or that two rows claim, would be read as another option.
TEST(PerftestRows, NameEachOptionOnceAndSayWhatToDoInstead) {
  std::set<std::string_view> words;
  std::set<char> letters;
  for (const PerftestRow& row : perftest_rows()) {
    EXPECT_TRUE(words.insert(row.word).second) << row.word;
    EXPECT_TRUE(row.letter == 0 || letters.insert(row.letter).second) << row.letter;
    EXPECT_TRUE(!is_refused(row) || !row.why.empty()) << row.word;
  }
}

// A reason for a missing parameter is required if a kernel lacks it, and stale if every kernel has
// it.
TEST(PerftestRows, SayWhyAKernelLacksAParameterExactlyWhereOneOfTheCatalogsDoes) {
  std::vector<KernelInfo> kernels;
  for (const PerftestProgram& program : perftest_programs())
    for (const std::string_view name : {program.kernel, program.immediate})
      if (!name.empty()) kernels.push_back(find_kernel(name)->info());
  for (const PerftestRow& row : perftest_rows()) {
    if (row.parameter.empty()) continue;
    const auto has = [&row](const KernelInfo& kernel) {
      return std::ranges::find(kernel.parameters(), row.parameter, &ParameterInfo::name) !=
             kernel.parameters().end();
    };
    EXPECT_TRUE(std::ranges::any_of(kernels, has)) << row.word;
    EXPECT_EQ(std::ranges::all_of(kernels, has), row.why.empty()) << row.word;
  }
}

// The options that the installed programs' help names, each of which must have its row.
TEST(PerftestRows, KnowEachOptionOfTheInstalledPerftest) {
  std::set<std::string> seen;
  for (const PerftestProgram& program : perftest_programs()) {
    std::FILE* help = ::popen(fmt::format("{} --help 2>/dev/null", program.name).c_str(), "r");
    std::array<char, 512> line{};
    while (help != nullptr && std::fgets(line.data(), line.size(), help) != nullptr) {
      std::istringstream words{std::string(line.data())};
      for (std::string word; words >> word && word.starts_with('-');)
        seen.insert(word.substr(0, word.find_first_of("=,")));
    }
    if (help != nullptr) ::pclose(help);
  }
  if (seen.empty()) GTEST_SKIP() << "perftest is not installed";
  for (const std::string& option : seen) {
    const auto known = [&option](const PerftestRow& row) {
      return option == fmt::format("--{}", row.word) ||
             (row.letter != 0 && option == fmt::format("-{}", row.letter));
    };
    EXPECT_TRUE(std::ranges::any_of(perftest_rows(), known)) << option;
  }
}

TEST(PeerInvocation, ComesFromTheFirstArgumentOrTheProgramsOwnName) {
  std::string own = "/usr/bin/ib_read_lat";
  std::string runner = "railgauge-runner";
  std::string program = "ib_send_bw";
  std::string flag = "-a";
  const std::array<char*, 2> linked{own.data(), flag.data()};
  EXPECT_EQ(find_perftest_program(peer_invocation(linked).name)->kernel, "verbs.read_lat");
  EXPECT_THAT(peer_invocation(linked).arguments, ElementsAre("-a"));
  const std::array<char*, 3> named{runner.data(), program.data(), flag.data()};
  EXPECT_EQ(find_perftest_program(peer_invocation(named).name)->kernel, "verbs.send_bw");
  EXPECT_THAT(peer_invocation(named).arguments, ElementsAre("-a"));
  const std::array<char*, 2> neither{runner.data(), flag.data()};
  EXPECT_EQ(peer_invocation(neither).name, "");
}

Point point_of(const char* metric, double bytes, double value) {
  Point point;
  point.set_metric(metric);
  point.set_meaning("unidirectional");
  point.set_larger_is_better(point.metric() != "latency_ns");
  point.set_message_bytes(bytes);
  for (const auto set : {&Point::set_median, &Point::set_mean, &Point::set_min, &Point::set_max})
    (point.*set)(value);
  point.set_sample_count(50);
  return point;
}

PerftestCall in_gigabits() { return {.gigabits = true}; }

TEST(PerftestTable, HasBandwidthInTheToolsUnits) {
  RunnerReport report;
  report.set_outcome("passed");
  report.set_kernel("verbs.write_bw");
  (*report.mutable_started()->mutable_parameters())["iterations"] = "5000";
  *report.add_points() = point_of("bandwidth_bytes_per_second", 65536, 12.5e9);
  *report.add_points() = point_of("message_rate_per_second", 65536, 190734.86);
  EXPECT_EQ(perftest_table(report, {}, PerftestCall{}),
            "verbs.write_bw\n"
            "\nbandwidth, MiB: 2^20 bytes; peak, median and interval are of windows\n"
            "#bytes  #iterations  BW peak[MiB/sec]  BW average[MiB/sec]  MsgRate[Mpps]  "
            "median[MiB/sec]  95 % interval\n"
            " 65536         5000          11920.93             11920.93       0.190735  "
            "       11920.93              -\n");
  EXPECT_THAT(
      perftest_table(report, {}, in_gigabits()),
      AllOf(HasSubstr("BW average[Gb/sec]"), HasSubstr(" 65536         5000           100.00")));
  (*report.mutable_started()->mutable_parameters())["iterations"] = "0";
  report.mutable_points(0)->set_measure_ns(1e9);
  EXPECT_THAT(perftest_table(report, {}, in_gigabits()),
              HasSubstr(" 65536       190735           100.00"));
}

TEST(PerftestTable, EachDirectionHasAColumnWhereBothAreAskedFor) {
  EXPECT_TRUE(call("ib_write_bw", {"-b", "--report-both", "h"}).each_direction);
  RunnerReport report;
  *report.add_points() = point_of("bandwidth_bytes_per_second", 65536, 25e9);
  auto& facts = *report.mutable_points(0)->mutable_facts();
  facts["initiator_bytes_per_second"] = "10000000000";
  facts["target_bytes_per_second"] = "15000000000";
  *report.add_points() = point_of("bandwidth_bytes_per_second", 8, 1e9);
  const std::string table = perftest_table(report, {}, {.gigabits = true, .each_direction = true});
  EXPECT_THAT(table, HasSubstr("client's average[Gb/sec]  server's average[Gb/sec]"));
  EXPECT_THAT(table, ContainsRegex("65536 .* 200.00 .* 80.00 +120.00\n"));
  EXPECT_THAT(table, ContainsRegex(" 8 .* 8.00 .* - +-\n")) << "a figure without its directions";
  EXPECT_THAT(perftest_table(report, {}, in_gigabits()), Not(HasSubstr("client's")));
}

TEST(PerftestTable, OneFigureAloneOrEverySampleIsPrintedWhereAskedFor) {
  RunnerReport report;
  Point* point = report.add_points();
  point->set_metric("latency_ns");
  point->set_message_bytes(8);
  point->set_mean(2345);
  for (const double ns : {3000.0, 1000.0}) point->add_samples(ns);
  PerftestCall call{.only = "latency"};
  EXPECT_EQ(perftest_table(report, {}, call), "2.345000\n");
  call = {.samples = PerftestSamples::kInTime};
  EXPECT_THAT(perftest_table(report, {}, call), HasSubstr("8 bytes\n#, usec\n1, 3\n2, 1\n"));
  call.samples = PerftestSamples::kSorted;
  EXPECT_THAT(perftest_table(report, {}, call), HasSubstr("8 bytes\n#, usec\n1, 1\n2, 3\n"));
}

TEST(PerftestTable, NamedCountersFollowWithTheirGrowthInEachSize) {
  RunnerReport report;
  Point* point = report.add_points();
  point->set_metric("latency_ns");
  (*point->mutable_facts())["port_counters_grown"] = "a=3, out_of_buffer=12 and 4 more";
  (*point->mutable_facts())["port_traffic"] = "port_xmit_data_bytes=4096";
  const PerftestCall call{
      .only = "latency",
      .counters = {"hw_counters/out_of_buffer", "counters/port_xmit_data", "counters/absent"}};
  EXPECT_THAT(perftest_table(report, {}, call),
              testing::EndsWith("\thw_counters/out_of_buffer=12\n\tcounters/port_xmit_data=1024\n"
                                "\tcounters/absent=0\n"));
}

// In the tool one size that passes lets all pass.
TEST(PerftestFloors, HoldForEachSize) {
  RunnerReport report;
  for (const double mean : {10e9, 20e9}) {
    Point* point = report.add_points();
    point->set_metric("bandwidth_bytes_per_second");
    point->set_message_bytes(mean / 1e6);
    point->set_mean(mean);
  }
  const PerftestCall call{.gigabits = true, .least_bandwidth = 100};
  EXPECT_THAT(below_floors(report, call), ElementsAre("10000 bytes: 80.00 Gb/s is below 100.00"));
  EXPECT_TRUE(below_floors(report, {.gigabits = true, .least_bandwidth = 80}).empty());
  EXPECT_THAT(below_floors(report, {.least_bandwidth = 10'000}),
              ElementsAre("10000 bytes: 9536.74 MiB/s is below 10000.00"));
  EXPECT_THAT(below_floors(report, {.least_message_rate = 1}),
              ElementsAre("no message rate was measured, which has a floor"));
}

TEST(PerftestTable, EachOfSeveralLinksHasItsOwnRateAndName) {
  RunnerReport report;
  report.set_outcome("passed");
  report.set_kernel("verbs.write_bw");
  (*report.mutable_started()->mutable_parameters())["iterations"] = "50";
  for (const auto& [pair, factor] : {std::pair{"a:1>a:1", 1.0}, std::pair{"", 2.0}})
    for (const auto& [metric, value] : {std::pair{"bandwidth_bytes_per_second", 12.5e9},
                                        std::pair{"message_rate_per_second", 2e6}}) {
      Point point = point_of(metric, 65536, value * factor);
      point.set_pair(pair);
      *report.add_points() = point;
    }
  EXPECT_EQ(perftest_table(report, {}, in_gigabits()),
            "verbs.write_bw\n"
            "\nbandwidth, Gb: 10^9 bits; peak, median and interval are of windows\n"
            "#bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]  MsgRate[Mpps]  "
            "median[Gb/sec]  95 % interval  pair\n"
            " 65536           50           100.00              100.00       2.000000  "
            "        100.00              -  a:1>a:1\n"
            " 65536           50           200.00              200.00       4.000000  "
            "        200.00              -  all\n");
}

TEST(PerftestTable, HasLatencyInMicrosecondsAndNoPercentileWithoutEnoughSamples) {
  RunnerReport report;
  report.set_outcome("passed");
  report.set_kernel("verbs.read_lat");
  Point point = point_of("latency_ns", 2, 1234);
  point.set_meaning("rtt");
  point.set_stddev(5);
  *report.add_points() = point;
  EXPECT_EQ(perftest_table(report, {}, PerftestCall{}),
            "verbs.read_lat\n"
            "\nlatency, a full round trip; t_typical is the median, the interval is its own; every "
            "sample counts\n"
            "#bytes  #iterations  t_min[usec]  t_max[usec]  t_typical[usec]  t_avg[usec]  "
            "t_stdev[usec]  99% percentile[usec]  99.9% percentile[usec]  95 % interval\n"
            "     2           50         1.23         1.23             1.23         1.23  "
            "         0.01                     -                       -              -\n");
}

}  // namespace
}  // namespace railgauge
