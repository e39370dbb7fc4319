// The watch's thread over a tree of files; NVML is the fake where a driver is pretended: synthetic.
#include "agent/watch/watch.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>

#include "agent/testing/temp_dir.h"
#include "agent/watch/remaps.h"
#include "kernels/fakes/nvml/fake_nvml.h"

namespace railgauge::agent {
namespace {

class WatchTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1); }
  void SetUp() override {
    fake::nvml_control().reset();
    folder_.write(kDowned, "3\n");
    folder_.write("kern.log", "");
  }
  WatchOptions options() {
    return {.seconds = 0.01,
            .sysfs_root = folder_ / "sys",
            .proc_root = folder_ / "proc",
            .kernel_log = folder_ / "none",
            .log_files = {folder_ / "kern.log"}};
  }
  // Collects until an event of this kind has come.
  bool hears(Watch& watch, const std::string& kind) {
    for (int tries = 0; tries < 1000; ++tries) {
      Watch::News news;
      if (watch.take(news)) {
        looked_ = true;
        for (const api::NodeEvent& event : news.events)
          if (event.kind() == kind) return true;
      }
      ::usleep(5000);
    }
    return false;
  }
  bool looks(Watch& watch) {
    Watch::News news;
    for (int tries = 0; tries < 1000; ++tries) {
      if (watch.take(news) && !news.totals.empty()) return true;
      ::usleep(5000);
    }
    return false;
  }
  static constexpr const char* kDowned = "sys/class/infiniband/mlx5_0/ports/1/counters/link_downed";
  TempDir folder_;
  bool looked_ = false;
};

TEST_F(WatchTest, ALinkThatWentDownIsAnEvent) {
  Watch watch(options(), [] {});
  watch.start();
  ASSERT_TRUE(looks(watch));
  folder_.write(kDowned, "4\n");
  EXPECT_TRUE(hears(watch, "counter"));
}

TEST_F(WatchTest, WhileATaskRunsOnlyTheLogIsRead) {
  Watch watch(options(), [] {});
  watch.start();
  ASSERT_TRUE(looks(watch));
  watch.set_quiet(true);
  ::usleep(100'000);
  Watch::News ignored;
  static_cast<void>(watch.take(ignored));
  folder_.write(kDowned, "5\n");
  std::ofstream(folder_ / "kern.log", std::ios::app)
      << "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n";
  Watch::News news;
  std::vector<std::string> kinds;
  for (int tries = 0; tries < 1000 && kinds.empty(); ++tries, ::usleep(5000))
    if (watch.take(news))
      for (const api::NodeEvent& event : news.events) kinds.push_back(event.kind());
  EXPECT_THAT(kinds, testing::ElementsAre("xid"));
  watch.set_quiet(false);
  EXPECT_TRUE(hears(watch, "counter")) << "what grew meanwhile is seen afterwards";
}

TEST_F(WatchTest, RemappedRowsAreReadWhereThereIsADriver) {
  RemapReader reader;
  EXPECT_TRUE(reader.look(folder_ / "proc").empty()) << "no driver, no library";
  folder_.write("proc/driver/nvidia/version", "NVRM\n");
  fake::nvml_control().remapped_rows = 2;
  const auto readings = reader.look(folder_ / "proc");
  ASSERT_EQ(readings.size(), 8U) << "four of each of two GPUs";
  EXPECT_EQ(readings[1].counter, "row_remap_uncorrectable");
  EXPECT_EQ(readings[1].value, 2U);
}

}  // namespace
}  // namespace railgauge::agent
