// The rows of nvbandwidth's and gdrcopy's tests, and the commands that measure what one of our
// tasks measures.
#include "kernels/peers/tools.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "kernels/core/base/lookup.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

using Parameters = std::map<std::string, std::string>;

// The tools' names in flags and results.
constexpr std::string_view kNvbandwidth = "nvbandwidth";
constexpr std::string_view kGdrcopy = "gdrcopy";
constexpr std::string_view kBandwidth = "bandwidth_bytes_per_second";
constexpr std::string_view kLatency = "latency_ns";
constexpr std::uint64_t kMib = 1U << 20U;

// --- nvbandwidth 0.10
// ------------------------------------------------------------------------------

// One copy test of nvbandwidth in short form, which it has by copy engines ("_ce"), by SMs ("_sm")
// and, between two GPUs, by TMA ("_tma"); row_of() makes the whole row.
struct CopyTest {
  std::string_view test;
  std::string_view kernel;
  // direction (of the data, or who executes) or pattern; "" has none.
  std::string_view direction;
  std::string_view pattern;
  PeerCell cell;
  std::string_view sm_direction{};  // with SMs, where it is another
};

// Short names, so that a row of the table stays one line.
constexpr auto kColumn = PeerCell::kColumn;
constexpr auto kFromRow = PeerCell::kRowToColumn;
constexpr auto kFromColumn = PeerCell::kColumnToRow;
constexpr std::string_view kHost = "cuda.host_copy_bw";
constexpr std::string_view kPeer = "cuda.peer_copy_bw";
constexpr std::string_view kFan = "cuda.fan_copy_bw";

// In both directions between host and GPUs, the tool's threads move each word 16 times before the
// next one. Eight of our launches, each of a slice, are one sample of its 16 copies.
constexpr std::string_view kAgain = "sm_again";

// Bidirectional tests between GPUs measure the copy that leaves the column's GPU, and also print
// the sum of both copies. all_to_one_read and one_to_all_read swap source and destination: the data
// leaves the one GPU in the former and arrives there in the latter. With SMs the source GPU
// executes, which makes these tests writes.
constexpr std::array kCopyTests{
    CopyTest{"host_to_device_memcpy", kHost, "h2d", "", kColumn},
    CopyTest{"device_to_host_memcpy", kHost, "d2h", "", kColumn},
    CopyTest{"host_to_device_bidirectional_memcpy", kHost, "h2d", "", kColumn},
    CopyTest{"device_to_host_bidirectional_memcpy", kHost, "d2h", "", kColumn},
    CopyTest{"device_to_device_memcpy_read", kPeer, "read", "", kFromColumn},
    CopyTest{"device_to_device_memcpy_write", kPeer, "write", "", kFromRow},
    CopyTest{"device_to_device_bidirectional_memcpy_read", kPeer, "read", "", kFromColumn},
    CopyTest{"device_to_device_bidirectional_memcpy_write", kPeer, "write", "", kFromColumn},
    CopyTest{"all_to_host_memcpy", kFan, "", "all_to_host", kColumn},
    CopyTest{"all_to_host_bidirectional_memcpy", kFan, "", "all_to_host", kColumn},
    CopyTest{"host_to_all_memcpy", kFan, "", "host_to_all", kColumn},
    CopyTest{"host_to_all_bidirectional_memcpy", kFan, "", "host_to_all", kColumn},
    CopyTest{"all_to_one_write", kFan, "write", "all_to_one", kColumn},
    CopyTest{"all_to_one_read", kFan, "read", "one_to_all", kColumn, "write"},
    CopyTest{"one_to_all_write", kFan, "write", "one_to_all", kColumn},
    CopyTest{"one_to_all_read", kFan, "read", "all_to_one", kColumn, "write"},
};

// 512 MiB and three samples of 16 copies are nvbandwidth's defaults.
PeerTest row_of(const CopyTest& copy, const std::string& engine) {
  const bool by_sms = engine == "sm";
  const bool both_ways = copy.test.find("bidirectional") != std::string_view::npos;
  const bool again = by_sms && both_ways && copy.kernel != kPeer;
  PeerTest row{.tool = kNvbandwidth,
               .test = std::string(copy.test) + "_" + engine,
               .kernel = copy.kernel,
               .parameters = {{"engine", again ? std::string(kAgain) : engine},
                              {"bidirectional", both_ways ? "true" : "false"},
                              {"sizes", "512MiB"}},
               .exact = {{"iterations", "3"}, {"copies", again ? "8" : "16"}},
               .scope = copy.kernel == kHost ? PeerScope::kEachGpu : PeerScope::kOnce,
               .metrics = {kBandwidth},
               .unit = "GB/s",
               .factor = 1e-9,
               .cell = copy.cell};
  const bool other = by_sms && !copy.sm_direction.empty();
  if (!copy.direction.empty())
    row.parameters["direction"] = other ? copy.sm_direction : copy.direction;
  if (!copy.pattern.empty()) row.parameters["pattern"] = copy.pattern;
  if (copy.kernel == kHost) row.parameters["host_memory"] = "pinned";
  return row;
}

// A sample of nvbandwidth's is a million accesses from all multiprocessors in turn; eleven of ours
// visit them all.
constexpr std::uint64_t kChaseRounds = 11;
const Parameters kLatencyCounts{{"iterations", "33"}, {"accesses", "90909"}};

// Adds the copy tests, then the tests with a form of their own.
void add_nvbandwidth(std::vector<PeerTest>& rows) {
  for (const char* engine : {"ce", "sm"})
    for (const CopyTest& copy : kCopyTests) rows.push_back(row_of(copy, engine));
  rows.push_back({.tool = kNvbandwidth,
                  .test = "host_device_latency_sm",
                  .kernel = "cuda.host_latency",
                  .parameters = {{"order", "stride"}},
                  .exact = kLatencyCounts,
                  .samples_of_ours = kChaseRounds,
                  .metrics = {kLatency},
                  .unit = "ns",
                  .cell = kColumn});
  rows.push_back({.tool = kNvbandwidth,
                  .test = "device_to_device_latency_sm",
                  .kernel = "cuda.peer_latency",
                  .parameters = {{"order", "stride"}},
                  .exact = kLatencyCounts,
                  .samples_of_ours = kChaseRounds,
                  .scope = PeerScope::kOnce,
                  .metrics = {kLatency},
                  .unit = "ns",
                  .cell = kFromColumn});
  for (const CopyTest& copy : kCopyTests)
    if (copy.kernel == kPeer) rows.push_back(row_of(copy, "tma"));
  for (const auto& [suffix, engine] : {std::pair{"", "ce"}, {"_sm", "sm"}, {"_tma", "tma"}})
    rows.push_back({.tool = kNvbandwidth,
                    .test = std::string("device_local_copy") + suffix,
                    .kernel = "cuda.local_copy_bw",
                    .parameters = {{"engine", engine}, {"sizes", "512MiB"}},
                    .exact = {{"iterations", "3"}, {"copies", "16"}},
                    .metrics = {kBandwidth},
                    .unit = "GB/s",
                    .factor = 1e-9,
                    .cell = kColumn});
}

// Tests of nvbandwidth that are not measured here; it lists them before device_local_copy_tma.
struct LeftOut {
  std::string_view test;
  std::string_view why;
};
constexpr std::string_view kAfterLeftOut = "device_local_copy_tma";
constexpr std::array kLeftOut{
    LeftOut{"device_local_read_sm",
            "no kernel here reads without writing; device_local_copy_sm does both"},
    LeftOut{"device_local_write_sm",
            "no kernel here writes without reading; device_local_copy_sm does both"},
    LeftOut{"device_to_device_latency_tma",
            "no kernel here waits for single loads by TMA; device_to_device_latency_sm has the "
            "latency of plain loads"}};

// --- gdrcopy 2.6
// ----------------------------------------------------------------------------------

// One figure of a gdrcopy program in short form.
struct BarTest {
  std::string_view test;
  std::string_view kernel;
  std::string_view sizes;       // "" where the test has none
  std::string_view iterations;  // of each size
  std::string_view metric;
  std::string_view unit;
  double factor;
};

// Factors from our units to gdrcopy's.
constexpr double kMibPerByte = 1.0 / static_cast<double>(kMib);  // it prints MiB/s as "MB/s"
constexpr double kUsPerNs = 1e-3;
// Represents the steps of a mapping, which one run measures.
constexpr std::string_view kEachStep = "*";
constexpr std::array kBarTests{
    BarTest{"copybw", "bar.write_bw", "128KiB", "10000", kBandwidth, "MB/s", kMibPerByte},
    BarTest{"copybw", "bar.read_bw", "128KiB", "100", kBandwidth, "MB/s", kMibPerByte},
    BarTest{"copylat", "bar.write_lat", "1:16MiB", "10000", kLatency, "us", kUsPerNs},
    BarTest{"copylat", "bar.read_lat", "1:16MiB", "100", kLatency, "us", kUsPerNs},
    BarTest{"apiperf", "bar.map_cost", "64KiB:16MiB", "100", kEachStep, "us", kUsPerNs},
    BarTest{"pplat", "bar.ping_pong", "", "1000", kLatency, "us", kUsPerNs},
    BarTest{"sanity", "bar.sanity", "", "", "", "", 1},
};

// A program with two figures has two rows.
void add_gdrcopy(std::vector<PeerTest>& rows) {
  for (const BarTest& bar : kBarTests) {
    PeerTest row{.tool = kGdrcopy,
                 .test = std::string(bar.test),
                 .kernel = bar.kernel,
                 .parameters = {},
                 .exact = {},
                 .unit = bar.unit,
                 .factor = bar.factor};
    if (!bar.metric.empty()) row.metrics = {bar.metric};
    if (bar.metric == kEachStep) {
      row.metrics = {"pin_ns", "map_ns", "get_info_ns", "unmap_ns", "unpin_ns"};
      row.cell = PeerCell::kMetric;
    }
    if (!bar.sizes.empty()) row.parameters["sizes"] = bar.sizes;
    if (!bar.iterations.empty()) row.parameters["iterations"] = bar.iterations;
    rows.push_back(std::move(row));
  }
}

// The order of tools and tests is the order of all lists.
std::vector<PeerTest> make_rows() {
  std::vector<PeerTest> rows;
  add_nvbandwidth(rows);
  add_gdrcopy(rows);
  return rows;
}

// --- the way back
// ---------------------------------------------------------------------------------

// The defaults of our kernels that determine the tool's test; a unit test compares them with the
// catalog's declarations.
const Parameters kDefaults{
    {"direction", "h2d"}, {"engine", "ce"},          {"bidirectional", "false"},
    {"sizes", "64MiB"},   {"host_memory", "pinned"}, {"pattern", "all_to_host"},
    {"numa", "near"},     {"gpus", "all"},           {"verify", "true"},
    {"iterations", "0"},  {"order", "random"},       {"copies", "0"},
    {"backend", "auto"},  {"routine", "auto"},       {"buffer", "2MiB"},
};

// One of our tasks with the defaults of its kernel filled in. References outlive it.
class Task {
 public:
  Task(std::string_view kernel, const Parameters& given) : kernel_(kernel), given_(given) {}

  // Returns the parameter's effective value; "" without a known default.
  [[nodiscard]] std::string value(const std::string& name) const {
    const bool reads = name == "direction" && kernel_ != kHost;
    return given(name, reads ? "read" : value_of(kDefaults, name));
  }
  // The given value, else the tool's own default.
  [[nodiscard]] std::string given(const std::string& name, const std::string& otherwise) const {
    return value_of(given_, name, otherwise);
  }
  // Whether the task is the row's measurement, whatever its sizes and counts.
  [[nodiscard]] bool is(const PeerTest& row) const {
    if (row.kernel != kernel_) return false;
    return std::ranges::all_of(row.parameters, [this](const auto& parameter) {
      const auto& [name, wanted] = parameter;
      const std::string own = value(name);
      if (wanted == kAgain && own == "sm") return true;  // the nearest that the tool has
      return name == "sizes" || name == "iterations" || own == wanted;
    });
  }

 private:
  std::string_view kernel_;
  const Parameters& given_;
};

// kUnimplemented: the tool cannot measure it.
tl::unexpected<Error> no_test(std::string_view tool, std::string_view kernel, std::string reason) {
  return fail(Code::kUnimplemented, "{}: {}: {}", tool, kernel, reason);
}

// 0 for a text that is no number.
std::int64_t count_of(const std::string& text) { return parse_integer(text).value_or(0); }

// A line for each size: the tool measures one in a run.
Result<std::string> nvbandwidth_command(const PeerTest& row, const Task& task) {
  const auto none = [&row](std::string reason) {
    return no_test(kNvbandwidth, row.kernel, std::move(reason));
  };
  const std::string command = fmt::format("nvbandwidth -t {}", row.test);
  // Each refusal below names the parameter that the tool has no way to follow.
  if (task.value("gpus") != "all") return none("it always takes all GPUs, gpus is not all");
  if (task.value("numa") == "far") return none("it has no way to run on the far NUMA node");
  const std::string affinity = task.value("numa") == "any" ? " -d" : "";
  // The latency tests have no size.
  if (!row.parameters.contains("sizes")) {
    for (const char* name : {"buffer", "host_memory"})
      if (task.value(name) != kDefaults.at(name))
        return none(fmt::format("its latency tests have a fixed {}, which is not {}", name,
                                task.value(name)));
    return command + affinity;
  }
  std::string counts;
  const std::int64_t samples = count_of(task.value("iterations"));
  if (samples > 0) counts += fmt::format(" -i {}", samples);
  constexpr std::int64_t kCopiesOfALaunch = 2;
  // sm_again launches copy twice, so nvbandwidth needs twice the loops.
  const bool again = row.parameters.at("engine") == kAgain && task.value("engine") == kAgain;
  const std::int64_t copies =
      count_of(task.value("copies")) * (again ? kCopiesOfALaunch : std::int64_t{1});
  if (copies > 0) counts += fmt::format(" --loopCount {}", copies);  // hidden, default 16
  if (task.value("verify") == "false") counts += " -s";
  std::string lines;
  for (const std::uint64_t size : RG_TRY(parse_bytes_list(task.value("sizes")))) {
    // -b takes MiB.
    if (size % kMib != 0) return none("its sizes are whole MiB");
    lines += fmt::format("{}{} -b {}{}{}", lines.empty() ? "" : "\n", command, size / kMib, counts,
                         affinity);
  }
  return lines;
}

// -d of gdrcopy's programs; "" is the first GPU.
Result<int> gpu_index(std::string_view endpoint) {
  if (endpoint.empty()) return 0;
  constexpr std::string_view kPrefix = "gpu";
  if (endpoint.starts_with(kPrefix))
    if (const auto index = parse_integer(endpoint.substr(kPrefix.size()));
        index && *index >= 0 && *index <= std::numeric_limits<int>::max())
      return static_cast<int>(*index);
  return invalid("endpoint {} is no GPU; a GPU is gpu0, gpu1, ...", in_quotes(endpoint));
}

// Memory and mapping, which all programs but sanity choose alike.
Result<std::string> mapping_options(const PeerTest& row, const Task& task) {
  std::string options;
  if (row.test == "sanity") return options;
  if (task.given("allocation", "alloc") == "create") options += " -a cuMemCreate";
  const std::map<std::string, std::string> words{
      {"write_combined", "wc"}, {"cached", "cache"}, {"device", "device"}};
  if (const auto word = words.find(task.given("mapping", "default")); word != words.end())
    options += " -M " + word->second;
  return options;
}

// One block, as ours; the tool's default is 8 of 1024 threads.
std::string pplat_options(const Task& task, std::int64_t count) {
  std::string options = fmt::format(" -t {} -B 1 -T {}", count, task.given("threads", "1"));
  const std::string data = task.given("data", "0");
  if (const auto bytes = parse_bytes(data); bytes && *bytes > 0) {
    options += fmt::format(" -s {}", *bytes);
    if (task.given("data_memory", "gpu") == "host") options += " -D hostmem";
  }
  if (task.given("data_from", "cpu") == "gpu") options += " -m 1";
  if (task.given("flag_memory", "gpu") == "host") options += " -G hostmem";
  if (task.given("answer_memory", "host") == "gpu") options += " -C gpumem";
  return options;
}

// kUnimplemented with the first thing that gdrcopy cannot do as our task does.
Result<std::string> gdrcopy_command(const PeerTest& row, const Task& task,
                                    std::string_view endpoint) {
  const auto none = [&row](std::string reason) {
    return no_test(kGdrcopy, row.kernel, std::move(reason));
  };
  const int gpu = RG_TRY(gpu_index(endpoint));
  const std::string backend = task.value("backend");
  if (backend != "auto" && backend != "gdrdrv")
    return none(fmt::format("it maps through gdrdrv, not through {}", backend));
  if (task.value("routine") != "auto" && task.value("routine") != "gdrapi")
    return none("it chooses its copy routine by itself");
  if (task.value("numa") == "far") return none("it has no way to run on the far NUMA node");
  if (const std::string repeat = task.given("repeat", "0"); repeat != "0")
    return none(fmt::format("it chooses how many copies share a sample, and repeat is {}", repeat));
  if (row.test == "sanity") {
    if (gpu != 0) return none("its sanity test takes the first GPU only");
    return std::string("gdrcopy_sanity");
  }
  std::string command = fmt::format("gdrcopy_{} -d {}", row.test, gpu);
  // 0: the task measures until its interval is narrow; the tool's own count is the nearest.
  std::int64_t count = count_of(task.value("iterations"));
  if (count == 0) count = count_of(row.parameters.at("iterations"));
  command += RG_TRY(mapping_options(row, task));
  if (row.test == "pplat") return command + pplat_options(task, count);
  const auto sizes = RG_TRY(parse_bytes_list(task.given("sizes", row.parameters.at("sizes"))));
  const std::uint64_t largest = *std::ranges::max_element(sizes);
  const std::uint64_t offset = RG_TRY(parse_bytes(task.given("offset", "0")));
  if (offset > 0 && row.test != "copybw") return none("only its bandwidth test has an offset");
  command += fmt::format(" -s {}", largest + offset);
  if (row.test == "apiperf") return fmt::format("{} -n {}", command, count);
  if (task.given("cache", "hot") == "cold") command += " -C";
  if (row.test == "copybw") {
    if (offset > 0) command += fmt::format(" -o {}", offset);
    if (sizes.size() != 1) return none("its bandwidth test measures one size in a run");
    command += fmt::format(" -c {}", largest);
  }
  const bool writes = row.kernel.find("write") != std::string_view::npos;
  return fmt::format("{} {} {}", command, writes ? "-w" : "-r", count);
}

}  // namespace

// Made on first use; lives as long as the process.
std::span<const PeerTest> peer_tests() {
  static const std::vector<PeerTest> kRows = make_rows();
  return kRows;
}

std::vector<const PeerTest*> find_peer_tests(std::string_view tool, std::string_view test) {
  std::vector<const PeerTest*> found;
  for (const PeerTest& row : peer_tests())
    if (row.tool == tool && row.test == test) found.push_back(&row);
  return found;
}

std::vector<std::string> peer_test_names(std::string_view tool) {
  std::vector<std::string> names;
  for (const PeerTest& row : peer_tests())
    if (row.tool == tool && (names.empty() || names.back() != row.test))
      names.emplace_back(row.test);
  return names;
}

std::vector<std::string> peer_tests_by_number(std::string_view tool) {
  std::vector<std::string> names = peer_test_names(tool);
  const auto at = std::ranges::find(names, kAfterLeftOut);
  if (at == names.end()) return names;
  std::vector<std::string> missing;
  for (const LeftOut& one : kLeftOut) missing.emplace_back(one.test);
  names.insert(at, missing.begin(), missing.end());
  return names;
}

std::string_view why_left_out(std::string_view test) {
  const auto* one = std::ranges::find(kLeftOut, test, &LeftOut::test);
  return one == kLeftOut.end() ? std::string_view() : one->why;
}

// The first row that fits: rows of one kernel differ in parameters that the task has.
Result<std::string> peer_command(std::string_view tool, std::string_view kernel,
                                 const std::map<std::string, std::string>& parameters,
                                 std::string_view endpoint) {
  if (tool != kNvbandwidth && tool != kGdrcopy)
    return invalid("tool {} is not known; nvbandwidth and gdrcopy are", in_quotes(tool));
  const Task task(kernel, parameters);
  // Separates a kernel that the tool lacks from a parameter that it lacks.
  bool has_kernel = false;
  for (const PeerTest& row : peer_tests()) {
    if (row.tool != tool) continue;
    has_kernel = has_kernel || row.kernel == kernel;
    if (!task.is(row)) continue;
    return tool == kNvbandwidth ? nvbandwidth_command(row, task)
                                : gdrcopy_command(row, task, endpoint);
  }
  return no_test(
      tool, kernel,
      has_kernel ? "it has no test with these parameters" : "it has no test of this kind");
}

}  // namespace railgauge
