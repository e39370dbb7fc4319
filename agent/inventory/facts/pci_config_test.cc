#include "agent/inventory/facts/pci_config.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

// A device with a PCI Express capability at 0x60.
class Config {
 public:
  explicit Config(std::size_t size = 4096) : bytes_(size) {
    put(0x00, {0xb3, 0x15});
    put(0x06, {0x10, 0x00});
    put(0x34, {0x60});
    put(0x60, {0x10, 0x00, 0x62, 0x00, 0x02, 0x00, 0x00, 0x00, 0x3f, 0x50});
  }
  void put(std::size_t at, const std::vector<std::uint8_t>& values) {
    for (const std::uint8_t value : values)
      if (at < bytes_.size()) bytes_[at++] = value;
  }
  [[nodiscard]] PciConfig parse() const { return parse_pci_config(bytes_, "/config"); }

 private:
  std::vector<std::uint8_t> bytes_;
};

TEST(PciConfigSpace, TheControlWordTellsReadRequestPayloadAndOrdering) {
  const PciConfig config = Config().parse();
  ASSERT_TRUE(config.pcie.is_known()) << config.pcie.reason;
  EXPECT_EQ(config.pcie.value.port_type, 6);
  EXPECT_TRUE(config.pcie.value.relaxed_ordering);
  EXPECT_EQ(config.pcie.value.max_payload_bytes, 256u);
  EXPECT_EQ(config.pcie.value.max_read_request_bytes, 4096u);
}

TEST(PciConfigSpace, AcsIsFoundBehindOtherExtendedCapabilities) {
  Config bytes;
  bytes.put(0x100, {0x01, 0x00, 0x01, 0x15});  // next at 0x150
  bytes.put(0x150, {0x0d, 0x00, 0x01, 0x00, 0x5f, 0x00, 0x1d, 0x00});
  const PciConfig config = bytes.parse();
  ASSERT_TRUE(config.acs.is_known());
  EXPECT_EQ(config.acs.value.offset, 0x150);
  EXPECT_EQ(config.acs.value.capability, 0x5f);
  EXPECT_EQ(config.acs.value.control, kAcsSourceValidation | kAcsRequestRedirect |
                                          kAcsCompletionRedirect | kAcsUpstreamForwarding);
  EXPECT_TRUE(config.ats_enabled.is_absent());
}

TEST(PciConfigSpace, AtsIsOnByItsHighestBit) {
  Config bytes;
  bytes.put(0x100, {0x0f, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x80});
  EXPECT_TRUE(bytes.parse().ats_enabled.is(true));
}

TEST(PciConfigSpace, SixtyFourBytesAreUnknownAndSayWhatIsNeeded) {
  const PciConfig config = Config(64).parse();
  EXPECT_EQ(config.acs.state, FactState::kUnknown);
  EXPECT_EQ(config.pcie.state, FactState::kUnknown);
  EXPECT_THAT(config.acs.reason, HasSubstr("CAP_SYS_ADMIN"));
}

TEST(PciConfigSpace, WithoutExtendedSpaceAcsIsUnknownAndTheRestKnown) {
  const PciConfig config = Config(256).parse();
  EXPECT_TRUE(config.pcie.is_known());
  EXPECT_EQ(config.acs.state, FactState::kUnknown);
}

TEST(PciConfigSpace, ChainsThatLoopAreErrors) {
  Config bytes;
  bytes.put(0x60, {0x05, 0x60});
  bytes.put(0x100, {0x01, 0x00, 0x01, 0x10});
  EXPECT_EQ(bytes.parse().pcie.state, FactState::kError);
  EXPECT_EQ(bytes.parse().acs.state, FactState::kError);
}

TEST(PciConfigSpace, BytesThatEndWithinACapabilityAreAnError) {
  EXPECT_EQ(Config(0x64).parse().pcie.state, FactState::kError);
  EXPECT_EQ(Config(20).parse().acs.state, FactState::kError);
}

TEST(PciConfigSpace, ADeviceThatDoesNotAnswerIsAllOnes) {
  const std::vector<std::uint8_t> ones(4096, 0xff);
  const PciConfig config = parse_pci_config(ones, "/config");
  EXPECT_EQ(config.acs.state, FactState::kError);
  EXPECT_THAT(config.acs.reason, HasSubstr("does not answer"));
}

}  // namespace
}  // namespace railgauge::agent
