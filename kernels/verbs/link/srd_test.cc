// Scalable reliable datagrams on the fake's libefa: in the order of the posts, and where the later
// of two posts comes first.
#include "kernels/verbs/link/srd.h"

#include "kernels/verbs/testing/provider_fixture.h"

namespace railgauge {
namespace {

using Srd = Providers;

static_assert(verbs::aims_by_lane(verbs::Transport::kSrd));
static_assert(!verbs::aims_by_lane(verbs::Transport::kUd));
using ::testing::HasSubstr;

TEST_F(Srd, MeasuresAndVerifiesInAnyOrder) {
  for (const std::uint64_t overtakes : {0, 1})
    for (const char* kernel :
         {"verbs.send_bw", "verbs.send_lat", "verbs.write_bw", "verbs.write_imm_bw",
          "verbs.read_bw", "verbs.write_imm_lat", "verbs.read_lat"}) {
      verbs_control().reset();
      verbs_control().srd_overtakes = overtakes;
      expect_measured(kernel, way_of(kernel, "SRD"));
    }
}

TEST_F(Srd, HasBothDirectionsThreadsAndColdBuffers) {
  verbs_control().srd_overtakes = 1;
  expect_other_manners("SRD");
}

TEST_F(Srd, FindsAndNamesLossRepetitionAndWrongBytes) {
  expect_each_fault_found("SRD", 0);
  expect_each_fault_found("SRD", 1);
  expect_wrong_byte_found("SRD");
}

TEST_F(Srd, WaivesALackWithItsReasonAndARefusedArgumentIsAnError) {
  verbs_control().no_srd = 1;
  expect_lack("verbs.send_bw", "SRD", Code::kUnimplemented,
              "efadv_query_device: Operation not supported");
  verbs_control().no_srd = 2;
  expect_lack("verbs.send_bw", "SRD", Code::kInternal, "make an SRD queue pair of depth 136");
  expect_lack("verbs.write_bw", "SRD", Code::kUnimplemented, "posts no RDMA WRITE");
  verbs_control().no_srd = 3;
  expect_lack("verbs.send_bw", "SRD", Code::kInternal, "Invalid argument");
  verbs_control().reset();
  unsetenv(kEfaLibraryVariable);
  expect_lack("verbs.send_bw", "SRD", Code::kUnimplemented, "transport SRD: driver ");
  SetUpTestSuite();
}

TEST_F(Srd, ReadsAndWritesWhereTheDeviceSaysSoUpToItsSize) {
  verbs_control().efa_capabilities = 2;
  for (const char* kernel : {"verbs.write_bw", "verbs.read_lat", "verbs.write_imm_bw"})
    expect_lack(kernel, "SRD", Code::kUnimplemented, "efadv_query_device reports no RDMA ");
  expect_measured("verbs.send_bw", way_of("verbs.send_bw", "SRD"));
  verbs_control().reset();
  verbs_control().efa_rdma_bytes = 4096;
  EXPECT_THAT(error_of("verbs.read_bw", {{"transport", "SRD"}, {"sizes", "8KiB"}}).message,
              HasSubstr("above the device's largest RDMA message of 4096 bytes"));
  verbs_control().reset();
  verbs_control().max_message = 8928;
  EXPECT_THAT(error_of("verbs.send_bw", {{"transport", "SRD"}, {"sizes", "16KiB"}}).message,
              HasSubstr("above the port's largest message of 8928"));
  expect_measured("verbs.read_bw",
                  {{"transport", "SRD"}, {"sizes", "64KiB"}, {"iterations", "100"}});
}

TEST_F(Srd, RefusesWhatItsPostsAndReceivesLack) {
  for (const char* kernel : {"verbs.send_bw", "verbs.send_lat"})
    EXPECT_THAT(error_of(kernel, {{"transport", "SRD"}, {"signal_every", "4"}}).message,
                HasSubstr("parameter signal_every: 4 is not for transport SRD"));
  const Error error = error_of("verbs.send_bw", {{"transport", "SRD"}, {"srq", "true"}});
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("parameter srq: transport SRD has no shared"));
  const auto results =
      run("verbs.send_bw",
          {{"transport", "SRD"}, {"signal_every", "1"}, {"sizes", "64"}, {"iterations", "100"}});
  ASSERT_TRUE(results[0].status) << results[0].status.error().message;
  EXPECT_EQ(results[0].points[0].facts().at("signal_every"), "1");
}

// The last messages of the timed part, before any proof: what stays in the slots is compared.
TEST_F(Srd, FindsAWrongByteOfTheTimedPart) {
  for (const std::uint64_t overtakes : {0, 1}) {
    verbs_control().reset();
    verbs_control().srd_overtakes = overtakes;
    verbs_control().flip_write = 90;
    const Error error =
        error_of("verbs.write_bw", {{"transport", "SRD"}, {"sizes", "64"}, {"iterations", "100"}});
    EXPECT_EQ(error.code, Code::kDataLoss) << error.message;
    EXPECT_THAT(error.message, HasSubstr("verify a 64 write"));
  }
}

// A device that does not try again fails the post, and both ranks end.
TEST_F(Srd, EndsWhereAReceiveIsMissingAndNobodyTriesAgain) {
  verbs_control().efa_capabilities = 1;
  const Error error = error_of("verbs.send_bw", {{"transport", "SRD"},
                                                 {"sizes", "64"},
                                                 {"receive_depth", "1"},
                                                 {"duration", "200ms"},
                                                 {"stall_timeout", "2s"}});
  EXPECT_EQ(error.code, Code::kUnavailable) << error.message;
}

TEST_F(Srd, LeavesNothingWhenAnyCallFails) {
  expect_nothing_left("verbs.send_bw",
                      {{"transport", "SRD"}, {"receive_depth", "2"}, {"qps", "2"}});
  expect_nothing_left("verbs.write_imm_lat", {{"transport", "SRD"}});
}

}  // namespace
}  // namespace railgauge
