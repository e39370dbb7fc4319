// The bytes of NIC ports beside a collective's figures: counters of a folder that grow while it
// runs.
#include <atomic>
#include <filesystem>
#include <fstream>

#include "kernels/nccl/communicator/ports.h"
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using fake::nccl_control;
using ::testing::HasSubstr;

class PortsOfACollective : public OnFakeRanks {
 protected:
  void SetUp() override {
    OnFakeRanks::SetUp();
    std::string form = (std::filesystem::temp_directory_path() / "railgauge-nics-XXXXXX").string();
    ASSERT_NE(mkdtemp(form.data()), nullptr);
    root_ = form;
    count(0, 0);
    count(1, 0);
    set_ports_folder(root_.string());
  }
  void TearDown() override {
    set_ports_folder("/sys");
    std::filesystem::remove_all(root_);
    OnFakeRanks::TearDown();
  }
  // In one write, so that no reader finds an empty file.
  void count(int device, std::uint64_t words) const {
    const auto folder =
        root_ / ("class/infiniband/mlx5_" + std::to_string(device)) / "ports/1/counters";
    std::filesystem::create_directories(folder);
    for (const char* file : {"port_xmit_data", "port_rcv_data"}) {
      std::ofstream(folder / (std::string(file) + ".new")) << words;
      std::filesystem::rename(folder / (std::string(file) + ".new"), folder / file);
    }
    std::ofstream(folder.parent_path() / "state") << "4: ACTIVE\n";
  }
  // Runs while mlx5_0 sends, and mlx5_1 does too where `both`.
  std::vector<fake::RankResult> run_beside_traffic(bool both) {
    std::atomic<bool> ends{false};
    std::thread traffic([&] {
      for (std::uint64_t words = 1'000; !ends; words += 1'000) {
        count(0, words);
        if (both) count(1, words);
      }
    });
    auto results = run("nccl.all_reduce", 2, {{"sizes", "4KiB,64KiB"}});
    ends = true;
    traffic.join();
    return results;
  }
  static std::vector<Point> shares(const std::vector<fake::RankResult>& results) {
    std::vector<Point> found;
    for (const Point& point : results[0].points)
      if (point.metric() == "busiest_port_share") found.push_back(point);
    return found;
  }

  std::filesystem::path root_;
};

TEST_F(PortsOfACollective, ThatOneCarriesAloneIsAFigureOfEachSize) {
  nccl_control().told_network = 1;
  const auto results = run_beside_traffic(false);
  expect_passed(results);
  const auto found = shares(results);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].median(), 2) << "two ports, of which one sent all";
  EXPECT_FALSE(found[0].larger_is_better());
  EXPECT_EQ(found[0].facts().at("unequal_host_rank"), "0");
  EXPECT_EQ(found[0].facts().at("ports"), "2");
  EXPECT_EQ(found[0].facts().at("quietest_port_share"), "0.0000");
  EXPECT_THAT(found[0].facts().at("port_bytes"), HasSubstr("mlx5_1:1 sent 0 received 0"));
}

TEST_F(PortsOfACollective, ThatCarryTheSameHaveAShareNearOne) {
  nccl_control().told_network = 2;
  const auto results = run_beside_traffic(true);
  expect_passed(results);
  for (const Point& point : shares(results)) EXPECT_LT(point.median(), 1.5);
}

TEST_F(PortsOfACollective, HaveNoFigureWhereNoConnectionUsesTheNetwork) {
  const auto results = run_beside_traffic(false);
  expect_passed(results);
  EXPECT_TRUE(shares(results).empty());
}

}  // namespace
}  // namespace railgauge::nccl
