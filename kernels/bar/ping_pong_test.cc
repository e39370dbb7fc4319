// Round trips with data on the fakes of driver and gdrcopy: in each direction, with flags and data
// in either memory, and with data that do not arrive.
#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "kernels/bar/with_routines.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
extern const KernelRow kBarPingPong;
}  // namespace railgauge

namespace railgauge::bar {
namespace {

using fake::RankResult;
using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

constexpr std::size_t kDataBytes = 4096;  // of the tests; no flag and no proof has so many

// Faults of the routines that copy data.
bool g_loses_written = false;
bool g_loses_end_of_read = false;

void lose_or_write(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (!g_loses_written || bytes != kDataBytes) std::memcpy(to, from, bytes);
}
void lose_or_read(std::byte* to, const std::byte* from, std::size_t bytes) {
  const bool loses = g_loses_end_of_read && bytes == kDataBytes;
  std::memcpy(to, from, loses ? bytes - sizeof(std::uint32_t) : bytes);
}
constexpr std::array kRoutines{Routine{"memcpy", true, lose_or_write, lose_or_read}};

class PingPongWithData : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    OnFakes::SetUpTestSuite();
    setenv(kGdrapiLibraryVariable, RAILGAUGE_FAKE_LIBGDRAPI, 1);
  }
  void SetUp() override {
    OnFakes::SetUp();
    fake::gdrapi_control().reset();
    g_loses_written = g_loses_end_of_read = false;
  }
  static RankResult play(Given given) {
    given.insert({{"backend", "gdrdrv"}, {"iterations", "40"}});
    return fake::run_solo({kBarPingPong.info, [] { return make_ping_pong(kRoutines); }},
                          {.parameters = given});
  }
};

TEST_F(PingPongWithData, PassesEachWayWithFlagsAndDataInEitherMemory) {
  for (const char* from : {"cpu", "gpu"})
    for (const char* data : {"gpu", "host"})
      for (const char* flag : {"gpu", "host"})
        for (const char* answer : {"host", "gpu"}) {
          SCOPED_TRACE(std::string(from) + " " + data + " " + flag + " " + answer);
          const RankResult result = play({{"data", "4KiB"},
                                          {"data_from", from},
                                          {"data_memory", data},
                                          {"flag_memory", flag},
                                          {"answer_memory", answer},
                                          {"threads", "32"}});
          ASSERT_TRUE(result.status) << result.status.error().message;
          ASSERT_EQ(result.points.size(), 1U);
          EXPECT_EQ(result.points[0].message_bytes(), kDataBytes);
          EXPECT_TRUE(result.points[0].verified());
          EXPECT_GT(result.points[0].median(), 0);
        }
}

TEST_F(PingPongWithData, WithoutDataIsOfOneWord) {
  for (const char* flag : {"gpu", "host"}) {
    const RankResult result = play({{"flag_memory", flag}});
    ASSERT_TRUE(result.status) << result.status.error().message;
    EXPECT_EQ(result.points.at(0).message_bytes(), 4);
    EXPECT_EQ(result.facts.at("flag_memory"), flag);
  }
}

TEST_F(PingPongWithData, FailsWhereTheGpuSeesAFlagBeforeItsData) {
  g_loses_written = true;
  const RankResult result = play({{"data", "4KiB"}});
  ASSERT_FALSE(result.status) << "lost data passed";
  EXPECT_EQ(result.status.error().code, Code::kDataLoss);
  EXPECT_THAT(result.status.error().message, HasSubstr("words of data were others"));
  EXPECT_TRUE(result.points.empty());
}

TEST_F(PingPongWithData, FailsWhereTheCpuFetchesLessThanTheGpuWrote) {
  g_loses_end_of_read = true;
  const RankResult result = play({{"data", "4KiB"}, {"data_from", "gpu"}});
  ASSERT_FALSE(result.status) << "lost data passed";
  EXPECT_EQ(result.status.error().code, Code::kDataLoss);
  EXPECT_THAT(result.status.error().message, HasSubstr("without the last word of its 4KiB"));
}

TEST_F(PingPongWithData, RefusesPartsOfWords) {
  const RankResult result = play({{"data", "6"}});
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.status.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace railgauge::bar
