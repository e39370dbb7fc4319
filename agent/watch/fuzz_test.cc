// The counter watch's input, mutated from fixed seeds: nothing may crash or wait, remarks are lines
// fit for the wire, growth is a number. LLVMFuzzerTestOneInput is libFuzzer's entry; here a plain
// test drives it. Run it under the asan preset too.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/testing/mutator.h"
#include "agent/testing/temp_dir.h"
#include "agent/watch/counters.h"
#include "agent/watch/kernel_log.h"
#include "agent/watch/tracker.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr int kTexts = 100'000;
constexpr int kTrees = 200;
constexpr int kLooks = 20'000;

void expect_line(const Remark& remark) {
  for (const std::string& text : {remark.subject, remark.text}) {
    ASSERT_EQ(valid_utf8(text), text);
    ASSERT_TRUE(std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
        << testing::PrintToString(text);
  }
  ASSERT_LT(remark.text.size(), 1'000u);
}

}  // namespace
}  // namespace railgauge::agent

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::agent;
  const std::string text(data, data + size);
  static_cast<void>(parse_counter(text));
  static_cast<void>(parse_aer_total(text));
  const auto remark = remark_of(text);
  EXPECT_EQ(remark.has_value(), parse_xid(text).has_value());
  if (remark) expect_line(*remark);
  return 0;
}

namespace railgauge::agent {
namespace {

const std::vector<std::string>& seeds() {
  static const auto* const all = new std::vector<std::string>{
      "42\n",
      "18446744073709551615\n",
      "-1",
      "0x1f",
      "RxErr 0\nBadTLP 3\nTOTAL_ERR_COR 3\n",
      "Undefined 0\nDLP 18446744073709551615\nSDES 1\n",
      "6,1234,99,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.\n",
      "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress\n",
      "NVRM: Xid (PCI:0000:3B:00.0): 4294967296",
      "NVRM: Xid (PCI:): 1",
      "",
      std::string(5'000, '9')};
  return *all;
}

TEST(WatchFuzz, AnyTextIsParsedOrRefused) {
  Mutator mutator(5);
  int remarks = 0;
  for (int i = 0; i < kTexts; ++i) {
    const std::string bytes = mutator.pick(seeds());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (remark_of(bytes)) ++remarks;
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << i;
  }
  EXPECT_GT(remarks, kTexts / 50) << "the mutations must reach what is valid too";
}

TEST(WatchFuzz, AnyCounterFileIsReadAndAnyLogIsFollowed) {
  Mutator mutator(6);
  const TempDir root;
  const std::string port = "class/infiniband/mlx5_0/ports/1/";
  root.write("log", "");
  KernelLog log(root / "no-kmsg", {root / "log"});
  ASSERT_TRUE(log.open());
  for (int i = 0; i < kTrees; ++i) {
    const std::string bytes = mutator.pick(seeds());
    for (const std::string& path :
         {port + "counters/symbol_error", port + "hw_counters/out_of_sequence", port + "state",
          std::string("class/net/ib0/carrier_changes"),
          std::string("bus/pci/devices/0000:3b:00.0/class"),
          std::string("bus/pci/devices/0000:3b:00.0/aer_dev_correctable")})
      root.write(path, bytes);
    for (const Reading& reading : read_counters(root.path()))
      ASSERT_FALSE(reading.device.empty() || reading.counter.empty());
    std::ofstream(root / "log", std::ios::app | std::ios::binary) << bytes << '\n';
    for (const Remark& remark : log.look(i)) expect_line(remark);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "round " << i;
  }
}

TEST(WatchFuzz, AnyCourseOfCountersGrowsByNumbers) {
  Mutator mutator(7);
  Tracker tracker;
  double now = 0;
  for (int i = 0; i < kLooks; ++i) {
    std::vector<Reading> readings;
    for (const char* counter : {"symbol_error", "link_downed", "out_of_sequence", "no_such"})
      if (mutator.below(4) != 0)
        readings.push_back(
            {mutator.below(8) == 0 ? "mlx5_1:1" : "mlx5_0:1", counter,
             mutator.below(4) == 0 ? mutator.number() : static_cast<std::uint64_t>(i)});
    now += mutator.below(100) == 0 ? 1e6 : static_cast<double>(mutator.below(30)) + 0.1;
    for (const Remark& remark : tracker.update(readings, now)) expect_line(remark);
    for (const Tracker::Total& total : tracker.totals())
      ASSERT_TRUE(std::isfinite(total.growth) && total.growth >= 0) << total.counter;
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "look " << i;
  }
}

}  // namespace
}  // namespace railgauge::agent
