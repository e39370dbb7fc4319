// Dynamically connected queue pairs on the fake's libmlx5.
#include "kernels/verbs/link/dc.h"

#include "kernels/verbs/testing/provider_fixture.h"

namespace railgauge {
namespace {

using Dc = Providers;

static_assert(verbs::aims_by_lane(verbs::Transport::kDc));
static_assert(!verbs::aims_by_lane(verbs::Transport::kXrc));

TEST_F(Dc, MeasuresAndVerifiesEveryVerb) {
  for (const char* kernel :
       {"verbs.write_lat", "verbs.write_imm_lat", "verbs.send_lat", "verbs.read_lat",
        "verbs.atomic_lat", "verbs.write_bw", "verbs.write_imm_bw", "verbs.send_bw",
        "verbs.read_bw", "verbs.atomic_bw"})
    expect_measured(kernel, way_of(kernel, "DC"));
}

TEST_F(Dc, HasBothDirectionsThreadsAndColdBuffers) { expect_other_manners("DC"); }

TEST_F(Dc, FindsAndNamesEachFaultOfTheWire) {
  expect_each_fault_found("DC", 0);
  expect_wrong_byte_found("DC");
}

TEST_F(Dc, WaivesALackWithItsReasonAndARefusedArgumentIsAnError) {
  verbs_control().no_dc = 1;
  expect_lack("verbs.write_bw", "DC", Code::kUnimplemented, "fake0:1: transport DC: ");
  expect_lack("verbs.write_bw", "DC", Code::kUnimplemented, "does not know the device");
  verbs_control().no_dc = 2;
  expect_lack("verbs.write_bw", "DC", Code::kUnimplemented,
              "make a DC target: Operation not supported");
  verbs_control().no_dc = 3;
  expect_lack("verbs.write_bw", "DC", Code::kInternal, "make a DC target: Invalid argument");
  verbs_control().no_dc = 4;
  expect_lack("verbs.write_bw", "DC", Code::kInternal,
              "make a DC initiator of depth 136: Operation not supported");
  verbs_control().reset();
  unsetenv(kMlx5LibraryVariable);
  expect_lack("verbs.send_bw", "DC", Code::kUnimplemented, "transport DC: driver ");
  SetUpTestSuite();
}

TEST_F(Dc, LeavesNothingWhenAnyCallFails) {
  expect_nothing_left("verbs.send_bw", {{"transport", "DC"}, {"receive_depth", "2"}, {"qps", "2"}});
  expect_nothing_left("verbs.read_lat", {{"transport", "DC"}});
}

}  // namespace
}  // namespace railgauge
