// Every GPU kernel of the catalog on the GPUs of this machine, with every value of its choices: it
// passes with verified data and real figures, or it waives for a reason that this machine explains
// (kernels/testing/gpu_waivers.h); any other waiver fails. The end names the waived ones. Events
// and the BAR's backends, which the fakes cannot show, run here, the device code in
// device_code_gpu_test.cc beside it. Without a GPU the program waives.
#include <sys/syscall.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/dl/vulkan.h"
#include "kernels/fakes/solo.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/memory/numa.h"
#include "kernels/testing/gpu_presence.h"
#include "kernels/testing/gpu_waivers.h"

namespace railgauge::gpu {
extern const DeviceCode kPatternCode;
extern const DeviceCode kFlagAnswerCode;
}  // namespace railgauge::gpu
namespace railgauge::cuda {
extern const gpu::DeviceCode kCopyCode;
extern const gpu::DeviceCode kCopyTmaCode;
extern const gpu::DeviceCode kChaseCode;
}  // namespace railgauge::cuda

namespace railgauge {
namespace {

using Parameters = std::map<std::string, std::string>;

// --- the machine ------------------------------------------------------------------------------

bool some_pair(const std::vector<gpu::Gpu>& gpus) {
  for (const gpu::Gpu& one : gpus)
    for (const gpu::Gpu& other : gpus) {
      int reaches = 0;
      if (one.index() != other.index() &&
          loaded_cuda().device_can_access_peer(&reaches, one.device(), other.device()) ==
              cu::kSuccess &&
          reaches != 0)
        return true;
    }
  return false;
}

// The second of the GPU's address ranges, behind which its memory is, is larger than the smallest.
bool has_large_bar(const gpu::Gpu& gpu) {
  constexpr std::uint64_t kSmallWindow = 256U << 20U;
  std::ifstream file("/sys/bus/pci/devices/" + gpu.pci_address() + "/resource");
  std::string line;
  if (!std::getline(file, line) || !std::getline(file, line)) return true;  // unknown
  unsigned long long begin = 0;
  unsigned long long end = 0;
  std::istringstream range(line);
  range >> std::hex >> begin >> end;  // "0x... 0x... flags"
  if (!range) return true;
  return end - begin + 1 > kSmallWindow;
}

// Whether Vulkan itself names a GPU: where its drivers are listed is the loader's to know.
bool has_vulkan_driver() {
  const auto vulkan = load_vulkan();
  if (!vulkan) return false;
  const vk::ApplicationInfo application{.application_name = "railgauge",
                                        .api_version = vk::kVersion11};
  const vk::InstanceCreateInfo info{.application = &application};
  vk::Instance instance = nullptr;
  if ((*vulkan)->create_instance(&info, nullptr, &instance) != vk::kSuccess) return false;
  std::uint32_t count = 0;
  const bool listed =
      (*vulkan)->enumerate_physical_devices(instance, &count, nullptr) == vk::kSuccess;
  (*vulkan)->destroy_instance(instance, nullptr);
  return listed && count > 0;
}

// By the flags that Linux lists; the plain one every CPU has.
std::set<std::string> routines_of_the_cpu() {
  const std::map<std::string, std::string> by_flag{
      {"sse4_1", "sse41"}, {"avx2", "avx2"}, {"avx512f", "avx512"}, {"movdir64b", "movdir64b"}};
  std::set<std::string> routines{"memcpy"};
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream flags(line);
    for (std::string flag; flags >> flag;)
      if (const auto known = by_flag.find(flag); known != by_flag.end())
        routines.insert(known->second);
    break;
  }
  return routines;
}

// The needs of the device code from the driver and the GPUs.
void read_device_code(const std::vector<gpu::Gpu>& gpus, GpuMachine& machine) {
  machine.device_code = machine.driver_reads_code = machine.gpu_runs_code = true;
  for (const gpu::DeviceCode* code :
       {&gpu::kPatternCode, &gpu::kFlagAnswerCode, &cuda::kCopyCode, &cuda::kChaseCode}) {
    if (code->ptx.empty()) machine.device_code = false;
    if (loaded_cuda().driver_version < gpu::cuda_release_of_ptx(code->ptx_version))
      machine.driver_reads_code = false;
    for (const gpu::Gpu& gpu : gpus)
      if (gpu.capability() < code->ptx_capability) machine.gpu_runs_code = false;
  }
}

// The bulk copies' code is of its own, for newer GPUs and drivers.
void read_tma(const std::vector<gpu::Gpu>& gpus, GpuMachine& machine) {
  constexpr int kCapabilityOfTma = 90;
  machine.gpu_has_tma = std::ranges::all_of(
      gpus, [](const gpu::Gpu& gpu) { return gpu.capability() >= kCapabilityOfTma; });
  machine.driver_reads_tma =
      loaded_cuda().driver_version >= gpu::cuda_release_of_ptx(cuda::kCopyTmaCode.ptx_version);
}

// Free huge pages of 2 MiB for two buffers of the largest size.
bool has_huge_pages() {
  constexpr long kPages = 300;
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  long pages = 0;
  return file >> pages && pages >= kPages;
}

void read_nodes(const std::vector<gpu::Gpu>& gpus, GpuMachine& machine) {
  if (const auto nodes = numa_nodes(); nodes)
    machine.numa_nodes = static_cast<std::size_t>(std::ranges::count_if(
        *nodes, [&](const NumaNode& node) { return nodes->size() == 1 || !node.cpus.empty(); }));
  const int first = gpus.front().numa_node();
  machine.gpu_node_known = first >= 0;
  machine.gpus_on_one_node = first >= 0 && std::ranges::all_of(gpus, [&](const gpu::Gpu& gpu) {
                               return gpu.numa_node() == first;
                             });
  machine.may_bind_memory = syscall(SYS_set_mempolicy, 0 /* default */, nullptr, 0) == 0;
}

// Reads the machine. Fails when a GPU that CUDA counts does not open and is no slice: such a
// machine may not waive anything for that reason.
Result<GpuMachine> read_machine() {
  const int count = RG_TRY(gpu::Gpu::count());
  GpuMachine machine;
  machine.gpus = static_cast<std::size_t>(count);
  std::vector<gpu::Gpu> gpus;
  for (int index = 0; index < count; ++index) {
    if (is_gpu_slice(index))
      machine.some_slice = true;
    else
      gpus.push_back(RG_TRY(gpu::Gpu::open("gpu" + std::to_string(index))));
  }
  machine.slice = is_gpu_slice(0);
  if (machine.slice) return machine;  // nothing else is asked of it
  const gpu::Gpu& first = gpus.front();
  RG_TRY_OK(first.make_current());
  machine.peers = some_pair(gpus);
  read_nodes(gpus, machine);
  read_device_code(gpus, machine);
  read_tma(gpus, machine);
  machine.huge_pages = has_huge_pages();
  machine.coherent = first.attribute(cu::kUsesHostPageTables).value_or(0) != 0;
  machine.gdrdrv = access("/dev/gdrdrv", R_OK | W_OK) == 0 && load_gdrapi().has_value();
  machine.dmabuf_mmap = first.attribute(cu::kDmaBufMmapSupported).value_or(0) != 0;
  machine.vulkan = has_vulkan_driver() && has_large_bar(first);
  constexpr int kMemOpsByDefault = 11'070;
  machine.stream_memops = loaded_cuda().driver_version >= kMemOpsByDefault;
  machine.routines = routines_of_the_cpu();
  return machine;
}

const Result<GpuMachine>& machine() {
  static const Result<GpuMachine> read = read_machine();
  return read;
}

// --- what is asked of it ----------------------------------------------------------------------

struct Way {
  std::string kernel;
  Parameters parameters;

  [[nodiscard]] std::string name() const {
    std::string words = kernel;
    for (const auto& [parameter, value] : parameters)
      if (!kHow.contains(parameter)) words.append(" ").append(parameter).append("=").append(value);
    return words;
  }
  // Parameters of the duration and the sizes, not of the measured thing.
  static inline const std::set<std::string> kHow{"time_cap", "min_samples", "busy", "sizes"};
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name(); }

// Below the L2 of any GPU and above it: the first rotates through memory, the second does not.
constexpr const char* kSizes = "64KiB,256MiB";

// Parameters whose values are combined with each other. Each value of any other choice is combined
// only with direction and engine.
const std::vector<std::string> kCombined{"pattern", "direction", "engine", "bidirectional"};
const std::vector<std::string> kBesideOthers{"direction", "engine"};

std::vector<std::string> values_of(const KernelInfo& info, const std::string& name) {
  for (const ParameterInfo& parameter : info.parameters()) {
    if (parameter.name() != name) continue;
    if (parameter.type() == "boolean") return {"false", "true"};
    return {parameter.choices().begin(), parameter.choices().end()};
  }
  return {};
}

// Every combination of the values of `names`, as far as the kernel has them, each with `rest`.
std::vector<Parameters> combined(const KernelInfo& info, const std::vector<std::string>& names,
                                 const Parameters& rest) {
  std::vector<Parameters> all{rest};
  for (const std::string& name : names) {
    std::vector<Parameters> longer;
    for (const std::string& value : values_of(info, name))
      for (Parameters one : all) {
        one.emplace(name, value);
        longer.push_back(std::move(one));
      }
    if (!longer.empty()) all = std::move(longer);
  }
  return all;
}

std::vector<Way> ways_of(const KernelInfo& info) {
  std::vector<Parameters> asked = combined(info, kCombined, {});
  const bool copies = info.name().starts_with("cuda.") && info.name().ends_with("_bw");
  for (Parameters& one : asked) {
    one.insert({{"time_cap", "200ms"}, {"min_samples", "5"}, {"busy", "measure"}});
    if (copies) one["sizes"] = kSizes;
    // Between the host and all GPUs at once, which share its links: 2 GiB each way of eight.
    if (const auto pattern = one.find("pattern");
        pattern != one.end() && pattern->second.find("host") != std::string::npos)
      one["time_cap"] = "500ms";
  }
  for (const ParameterInfo& parameter : info.parameters()) {
    if (std::ranges::count(kCombined, parameter.name()) != 0 ||
        Way::kHow.contains(parameter.name()))
      continue;
    for (const std::string& value : parameter.choices()) {
      if (value == parameter.default_value()) continue;
      Parameters rest{{parameter.name(), value},
                      {"time_cap", "50ms"},
                      {"min_samples", "5"},
                      {"busy", "measure"}};
      if (info.name() == "bar.crossover") {
        // Plain loads read the BAR at 0.06 GB/s and less: 4 MiB, the largest of its own sizes,
        // take longer than the whole cap.
        rest["sizes"] = "64,1KiB,16KiB,256KiB";
        rest["time_cap"] = "200ms";
      } else {
        rest["sizes"] = copies ? "4MiB" : "64KiB";
      }
      for (Parameters& one : combined(info, kBesideOthers, rest)) asked.push_back(std::move(one));
    }
  }
  // It differs from sm only where one kernel moves both ways between host and GPU.
  std::erase_if(asked, [](const Parameters& one) {
    const auto is = [&one](const char* name, const char* value) {
      const auto found = one.find(name);
      return found != one.end() && found->second == value;
    };
    return is("engine", "sm_again") && (!is("bidirectional", "true") ||
                                        is("pattern", "all_to_one") || is("pattern", "one_to_all"));
  });
  std::vector<Way> ways;
  ways.reserve(asked.size());
  for (const Parameters& one : asked)
    ways.push_back({info.name(), fake::declared_among(info, one)});
  return ways;
}

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const KernelRow& row : catalog()) {
    const KernelInfo info = row.info();
    if (!info.name().starts_with("cuda.") && !info.name().starts_with("bar.")) continue;
    if (info.min_ranks() > 1) continue;  // one process here
    for (Way& way : ways_of(info)) all.push_back(std::move(way));
  }
  return all;
}

// --- what came of it --------------------------------------------------------------------------

// By kernel; printed when all have run.
struct Tally {
  int measured = 0;
  std::vector<std::string> waived;  // "bar.write_bw backend=gdrdrv: why"
};
std::map<std::string, Tally>& tallies() {
  static std::map<std::string, Tally> all;
  return all;
}

class Summary : public ::testing::Environment {
 public:
  void TearDown() override {
    for (const auto& [kernel, tally] : tallies()) {
      std::printf("%s: %d ways measured, %zu waived\n", kernel.c_str(), tally.measured,
                  tally.waived.size());
      for (const std::string& one : tally.waived) std::printf("  waived: %s\n", one.c_str());
    }
  }
};
const ::testing::Environment* const kSummary = ::testing::AddGlobalTestEnvironment(new Summary);

class OnAGpu : public ::testing::TestWithParam<Way> {
 protected:
  // As in a profile: contexts and large buffers stay, and no kernel waits until the load of the one
  // before has faded from NVML's figures. Sessions that start cold are gpu_session_gpu_test's.
  static void SetUpTestSuite() { warm() = keep_gpus_warm(); }
  static void TearDownTestSuite() { warm().reset(); }
  void SetUp() override { need_gpu(); }

 private:
  static std::shared_ptr<void>& warm() {
    static std::shared_ptr<void> kept;
    return kept;
  }
};

void expect_explained(const Way& way, const Error& error) {
  ASSERT_EQ(outcome_of(error.code), kWaived) << error.message;
  tallies()[way.kernel].waived.push_back(way.name() + ": " + error.message);
  const auto words = may_waive(*machine(), way.kernel, way.parameters);
  const bool explained = std::ranges::any_of(words, [&](const std::string& part) {
    return error.message.find(part) != std::string::npos;
  });
  if (!explained)
    ADD_FAILURE() << way.name()
                  << " waived, which nothing that this machine lacks explains: " << error.message;
}

TEST_P(OnAGpu, MeasuresVerifiedFiguresOrWaivesForAReasonOfThisMachine) {
  ASSERT_TRUE(machine()) << machine().error().message;
  const Way& way = GetParam();
  const bool several = find_kernel(way.kernel)->info().endpoint_kind() == "none";
  const fake::RankResult result = fake::run_solo(
      *find_kernel(way.kernel),
      {.parameters = way.parameters, .endpoint = several ? "" : "gpu0", .deadline_seconds = 60});
  if (!result.status) {
    expect_explained(way, result.status.error());
    GTEST_SKIP() << result.status.error().message;
  }
  ++tallies()[way.kernel].measured;
  ASSERT_FALSE(result.points.empty());
  for (const Point& point : result.points) {
    EXPECT_FALSE(point.synthetic());
    EXPECT_GT(point.median(), 0) << point.metric();
    // Mapping moves no data, and a crossover is made of verified points.
    const bool no_data = way.kernel == "bar.map_cost" || point.metric() == "crossover_bytes";
    EXPECT_TRUE(point.verified() || no_data) << point.metric();
    std::printf("%s %s %s %.0f B: %.6g (n %.0f)\n", way.name().c_str(), point.pair().c_str(),
                point.metric().c_str(), point.message_bytes(), point.median(),
                point.sample_count());
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, OnAGpu, ::testing::ValuesIn(ways()), [](const auto& param) {
  std::string name = param.param.name();
  for (char& c : name)
    if (c == '.' || c == ' ' || c == '=') c = '_';
  return name;
});

}  // namespace
}  // namespace railgauge
