// Routines that copy wrongly, on the fakes of driver and gdrcopy. The proof of the mapping,
// bar.sanity, and the comparison after timed copies must each end in kDataLoss with the byte's
// offset, value and expected value. Only bar.sanity checks bytes beside a copy; the timing kernels
// have no guards.
#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <ostream>

#include <fmt/format.h>

#include "kernels/bar/sanity_cases.h"
#include "kernels/bar/with_routines.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/dl/vulkan.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/fake_vulkan.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
extern const KernelRow kBarCrossover;
extern const KernelRow kBarReadBw;
extern const KernelRow kBarReadLat;
extern const KernelRow kBarSanity;
extern const KernelRow kBarWriteBw;
extern const KernelRow kBarWriteLat;
}  // namespace railgauge

namespace railgauge::bar {
namespace {

using fake::RankResult;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Parameters = std::map<std::string, std::string>;

constexpr std::size_t kProofBytes = 64U << 10U;  // what path.cc copies of a window of that size
constexpr std::size_t kCopyBytes = 4096;         // timed before the window's size is
constexpr std::size_t kLine = 64;
constexpr std::size_t kDropped = 3;

enum class Fault : std::uint8_t {
  kNone,
  kDropsTheEnd,
  kSwapsLines,
  kDoesNothing,
  kWritesBeyond,
  kWritesBefore
};

// Copies of `least` to `most` bytes go wrong, but for the proof's unless `in_proof`.
struct Plan {
  Fault fault = Fault::kNone;
  bool in_proof = false;
  std::size_t least = 1;
  std::size_t most = SIZE_MAX;
};
Plan g_write;
Plan g_read;

void copy_by(const Plan& plan, std::byte* to, const std::byte* from, std::size_t bytes) {
  const bool wrong =
      plan.in_proof == (bytes == kProofBytes) && bytes >= plan.least && bytes <= plan.most;
  const Fault fault = wrong ? plan.fault : Fault::kNone;
  if (fault == Fault::kDoesNothing) return;
  if (fault == Fault::kDropsTheEnd) bytes -= std::min(bytes, kDropped);
  std::memcpy(to, from, bytes);
  if (fault == Fault::kWritesBeyond) to[bytes] ^= std::byte{0xff};
  if (fault == Fault::kWritesBefore) to[-1] ^= std::byte{0xff};
  if (fault != Fault::kSwapsLines || bytes < 2 * kLine) return;
  std::memcpy(to, from + kLine, kLine);
  std::memcpy(to + kLine, from, kLine);
}
void write(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_by(g_write, to, from, bytes);
}
void read(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_by(g_read, to, from, bytes);
}
constexpr std::array kRoutines{Routine{"memcpy", true, write, read}};

// A kernel with these routines.
struct Tested {
  const char* name;
  const KernelRow* like;
  std::unique_ptr<Kernel> (*make)();
  bool writes;
  Parameters parameters;
};
void PrintTo(const Tested& tested, std::ostream* out) { *out << tested.name; }

template <CopyDirection kDirection, CopyFigure kFigure>
std::unique_ptr<Kernel> copy_kernel() {
  return make_copy_kernel(kDirection, kFigure, kRoutines);
}
std::unique_ptr<Kernel> crossover() { return make_crossover_kernel(kRoutines); }
std::unique_ptr<Kernel> sanity() { return make_sanity_kernel(kRoutines); }

constexpr auto kWrite = CopyDirection::kWrite;
constexpr auto kRead = CopyDirection::kRead;
constexpr auto kBandwidth = CopyFigure::kBandwidth;
constexpr auto kLatency = CopyFigure::kLatency;

std::vector<Tested> timed_kernels() {
  const Parameters write{{"direction", "write"}};
  const Parameters read{{"direction", "read"}};
  return {{"write_bw", &kBarWriteBw, copy_kernel<kWrite, kBandwidth>, true, {}},
          {"write_lat", &kBarWriteLat, copy_kernel<kWrite, kLatency>, true, {}},
          {"read_bw", &kBarReadBw, copy_kernel<kRead, kBandwidth>, false, {}},
          {"read_lat", &kBarReadLat, copy_kernel<kRead, kLatency>, false, {}},
          {"crossover_write", &kBarCrossover, crossover, true, write},
          {"crossover_read", &kBarCrossover, crossover, false, read}};
}
const Tested kSanity{"sanity", &kBarSanity, sanity, true, {}};

class WrongBytes : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    OnFakes::SetUpTestSuite();
    setenv(kGdrapiLibraryVariable, RAILGAUGE_FAKE_LIBGDRAPI, 1);
    setenv(kVulkanLibraryVariable, RAILGAUGE_FAKE_LIBVULKAN, 1);
  }
  void SetUp() override {
    OnFakes::SetUp();
    fake::gdrapi_control().reset();
    g_write = {};
    g_read = {};
  }
  void TearDown() override {
    EXPECT_EQ(fake::gdrapi_control().live_handles, 0);
    OnFakes::TearDown();
  }
  static RankResult run(const Tested& tested) {
    Parameters parameters = fake::declared_among(
        tested.like->info(), {{"backend", "gdrdrv"},
                              {"sizes", fmt::format("{},{}", kCopyBytes, kProofBytes)},
                              {"iterations", "2"}});
    if (tested.like == &kBarSanity) parameters["iterations"] = "1";
    parameters.insert(tested.parameters.begin(), tested.parameters.end());
    return fake::run_solo({tested.like->info, tested.make}, {.parameters = parameters});
  }
  // Expects kDataLoss with a byte's offset, value and expected value, and no figure.
  static void expect_named(const RankResult& result, const std::string& part) {
    ASSERT_FALSE(result.status) << "wrong bytes passed";
    const std::string& message = result.status.error().message;
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << message;
    EXPECT_THAT(message, ContainsRegex("byte [0-9]+.* is 0x[0-9a-f][0-9a-f], expected 0x"));
    EXPECT_THAT(message, ContainsRegex(part));
    EXPECT_TRUE(result.points.empty()) << "a figure over wrong bytes counts";
  }
};

class Timed : public WrongBytes, public ::testing::WithParamInterface<Tested> {
 protected:
  static RankResult run_with(Plan plan) {
    (GetParam().writes ? g_write : g_read) = plan;
    return run(GetParam());
  }
  // Expects the fault to be found in the bytes of the timed copies.
  static void expect_found(Fault fault, const std::string& part) {
    const RankResult result = run_with({fault});
    expect_named(result, part);
    ASSERT_FALSE(result.status);
    EXPECT_THAT(result.status.error().message, Not(HasSubstr("prove the mapping")));
  }
};

TEST_P(Timed, PassesWithARoutineThatCopiesRight) {
  const RankResult result = run(GetParam());
  ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_FALSE(result.points.empty());
}

TEST_P(Timed, FailsWhenTheLastBytesAreDropped) {
  expect_found(Fault::kDropsTheEnd, fmt::format("byte {} is 0x00", kCopyBytes - kDropped));
}

TEST_P(Timed, FailsWhenTwoLinesAreSwapped) { expect_found(Fault::kSwapsLines, "byte 0 is 0x"); }

TEST_P(Timed, FailsWhenNothingIsCopied) { expect_found(Fault::kDoesNothing, "byte 0 is 0x00"); }

TEST_P(Timed, DoesNotBeginWhereTheProofFindsWrongBytes) {
  const std::string proof = "prove the mapping, ";
  const std::string way = proof + (GetParam().writes ? "CPU to GPU" : "GPU to CPU");
  expect_named(run_with({Fault::kDropsTheEnd, true}),
               fmt::format("{}: byte {} is", way, kProofBytes - kDropped));
  expect_named(run_with({Fault::kSwapsLines, true}), way + ": byte 0 is");
  expect_named(run_with({Fault::kDoesNothing, true}), way + ": byte 0 is");
}

INSTANTIATE_TEST_SUITE_P(Bar, Timed, ::testing::ValuesIn(timed_kernels()),
                         [](const auto& tested) { return std::string(tested.param.name); });

// gdrdrv is here and maps other memory than it pinned; the next path is right.
class AnEarlierPath : public WrongBytes {
 protected:
  void SetUp() override {
    WrongBytes::SetUp();
    fake::vulkan_control().reset();
    fake::gdrapi_control().map_other = 1;
  }
  void TearDown() override {
    EXPECT_EQ(fake::vulkan_control().live_handles, 0);
    WrongBytes::TearDown();
  }
  static RankResult run_auto(const KernelRow& row) {
    return fake::run_solo(row,
                          {.parameters = fake::declared_among(row.info(), {{"iterations", "2"}})});
  }
};

TEST_F(AnEarlierPath, ThatIsWrongFailsSanityNamingItAndTheByte) {
  const RankResult result = run_auto(kBarSanity);
  expect_named(result,
               "gpu0: gdrdrv: prove the mapping, CPU to GPU: byte [0-9]+ is .*; vulkan "
               "carries the same bytes right");
}

TEST_F(AnEarlierPath, ThatIsWrongIsAWarningBesideWhatTheNextOneMeasures) {
  const RankResult result = run_auto(kBarWriteBw);
  ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_EQ(result.facts.at("path"), "vulkan");
  EXPECT_THAT(result.notes, Contains(HasSubstr("gdrdrv: prove the mapping")));
}

TEST_F(AnEarlierPath, ThatIsAbsentIsNoFaultOfSanity) {
  fake::gdrapi_control().no_driver = 1;
  const RankResult result = run_auto(kBarSanity);
  ASSERT_TRUE(result.status) << result.status.error().message;
}

// Each fault in each direction, with the message of bar.sanity.
struct SanityCase {
  const char* name;
  Fault fault;
  const char* written;
  const char* read;
};

class SanityFails : public WrongBytes, public ::testing::WithParamInterface<SanityCase> {};

TEST_F(WrongBytes, SanityPassesWithARoutineThatCopiesRight) {
  const RankResult result = run(kSanity);
  ASSERT_TRUE(result.status) << result.status.error().message;
}

TEST_P(SanityFails, OnAPieceThatIsWritten) {
  g_write = {GetParam().fault};
  expect_named(run(kSanity),
               std::string("[0-9]+ bytes at 0x[0-9a-f]+ \\+ [0-9]+: .*") + GetParam().written);
}

TEST_P(SanityFails, OnAPieceThatIsRead) {
  g_read = {GetParam().fault};
  expect_named(run(kSanity),
               std::string("[0-9]+ bytes at 0x[0-9a-f]+ \\+ [0-9]+: .*") + GetParam().read);
}

INSTANTIATE_TEST_SUITE_P(
    Bar, SanityFails,
    ::testing::Values(
        SanityCase{"WhenTheLastBytesAreDropped", Fault::kDropsTheEnd, "written byte 0 is 0xa5",
                   "read byte 0 is 0xa5"},
        SanityCase{"WhenTwoLinesAreSwapped", Fault::kSwapsLines, "written byte 0 is",
                   "read byte 0 is"},
        SanityCase{"WhenNothingIsCopied", Fault::kDoesNothing, "written byte 0 is 0xa5",
                   "read byte 0 is 0xa5"},
        SanityCase{"WhenAByteBeyondIsWritten", Fault::kWritesBeyond,
                   "the write touched more: guard byte 0 beyond its end is 0x5a, expected 0xa5",
                   "the read wrote beside its buffer: guard byte 0 beyond its end is 0x5a"},
        SanityCase{"WhenAByteBeforeIsWritten", Fault::kWritesBefore,
                   "the write touched more: guard byte 63 of the 64 before it is 0x5a",
                   "the read wrote beside its buffer: guard byte 63 of the 64 before it is 0x5a"}),
    [](const auto& one) { return std::string(one.param.name); });

// Against a GPU kernel on the other side, over more than any piece has.
TEST_F(WrongBytes, SanityFailsOnAWholeMapping) {
  const std::size_t whole = unaligned_window_bytes();
  const std::string end = std::to_string(whole - kDropped);
  for (const auto& [fault, at] : {std::pair{Fault::kDropsTheEnd, end},
                                  {Fault::kSwapsLines, std::string("0")},
                                  {Fault::kDoesNothing, std::string("0")}}) {
    const Plan plan{.fault = fault, .least = whole};
    g_read = plan;
    g_write = {};
    expect_named(run(kSanity), "byte " + at + ", written by a GPU kernel, is 0x");
    g_read = {};
    g_write = plan;
    expect_named(run(kSanity), "BAR write, read by a GPU kernel: .*byte " + at + " is");
  }
}

}  // namespace
}  // namespace railgauge::bar
