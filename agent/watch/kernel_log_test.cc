#include "agent/watch/kernel_log.h"

#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kFallen =
    "NVRM: Xid (PCI:0000:3B:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

TEST(XidLine, NamesTheGpuAndTheFault) {
  const auto xid = parse_xid(kFallen);
  ASSERT_TRUE(xid);
  EXPECT_EQ(xid->pci_address, "0000:3b:00.0");
  EXPECT_EQ(xid->code, 79U);
  EXPECT_FALSE(xid->of_switch);
  const auto remark = remark_of(kFallen);
  EXPECT_EQ(remark->severity, "critical");
  EXPECT_EQ(remark->kind, "xid");
  EXPECT_THAT(remark->text, HasSubstr("XID 79"));
}

TEST(XidLine, AProgramsFaultIsForInformation) {
  EXPECT_EQ(remark_of("x NVRM: Xid (PCI:0000:17:00): 31, pid=4, name=a, MMU Fault")->severity,
            "info");
}

TEST(XidLine, AFaultOfASwitchSaysItselfWhetherItIsFatal) {
  const char* line = "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32";
  EXPECT_EQ(remark_of(line)->kind, "sxid");
  EXPECT_EQ(remark_of(line)->severity, "warning");
  EXPECT_EQ(remark_of("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 32")->severity,
            "critical");
}

TEST(XidLine, OtherLinesAreNone) {
  for (const char* line :
       {"", "NVRM: loading", "Xid (PCI:", "Xid (PCI:0000:3b:00)", "Xid (PCI:zz): 3",
        "Xid (PCI:0000:3b:00): x", "Xid (PCI:0000:3b:00): 99999999999999"})
    EXPECT_FALSE(remark_of(line)) << line;
}

TEST(XidFuzz, AnyBytesAreAFaultOrNothing) {
  std::mt19937 random(9);
  const std::string good = std::string(kFallen) + "SXid (PCI:0000:c1:00.0): 12028, Non-fatal";
  for (int i = 0; i < 50'000; ++i) {
    std::string text = good.substr(random() % good.size(), random() % good.size());
    for (int flips = static_cast<int>(random() % 4); flips > 0 && !text.empty(); --flips)
      text[random() % text.size()] = static_cast<char>(random());
    const auto remark = remark_of(text);
    EXPECT_TRUE(!remark || remark->text.size() <= 400) << text;
  }
}

class KernelLogFile : public testing::Test {
 protected:
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  TempDir folder_;
  std::string path_ = folder_ / "kern.log";
  KernelLog log_{folder_ / "no-kmsg", {folder_ / "none", path_}};
};

TEST_F(KernelLogFile, WhatWasThereIsOldAndWhatComesIsNew) {
  append(std::string(kFallen) + "\n");
  ASSERT_TRUE(log_.open());
  EXPECT_EQ(log_.source(), path_);
  EXPECT_THAT(log_.look(1), IsEmpty());
  append("Nov 22 host kernel: " + std::string(kFallen) + "\nother\n");
  EXPECT_THAT(log_.look(2), SizeIs(1));
  EXPECT_THAT(log_.look(3), IsEmpty());
}

TEST_F(KernelLogFile, ALineInTwoPiecesIsOneLine) {
  append("");
  ASSERT_TRUE(log_.open());
  append(std::string(kFallen).substr(0, 30));
  EXPECT_THAT(log_.look(1), IsEmpty());
  append(std::string(kFallen).substr(30) + "\n");
  EXPECT_THAT(log_.look(2), SizeIs(1));
}

TEST_F(KernelLogFile, AStormOfTheSameFaultIsToldOnceAMinute) {
  append("");
  ASSERT_TRUE(log_.open());
  for (int i = 0; i < 100; ++i) append(std::string(kFallen) + "\n");
  EXPECT_THAT(log_.look(1), SizeIs(1));
  append(std::string(kFallen) + "\n");
  EXPECT_THAT(log_.look(30), IsEmpty());
  append(std::string(kFallen) + "\n");
  EXPECT_THAT(log_.look(90), SizeIs(1));
}

TEST_F(KernelLogFile, ARotatedOrShortenedFileIsReadFromItsBeginning) {
  append("old\n");
  ASSERT_TRUE(log_.open());
  fs::rename(path_, folder_ / "kern.log.1");
  append(std::string(kFallen) + "\n");
  EXPECT_THAT(log_.look(1), SizeIs(1));
  append(kFallen);  // a line whose end is missing
  EXPECT_THAT(log_.look(2), IsEmpty());
  std::ofstream(path_, std::ios::trunc) << "";
  EXPECT_THAT(log_.look(100), IsEmpty());
  append("other\n");
  EXPECT_THAT(log_.look(150), IsEmpty());
  append(std::string(kFallen) + "\n");
  EXPECT_THAT(log_.look(200), SizeIs(1));
}

TEST_F(KernelLogFile, WhatIsNeededIsSaidWhenNothingCanBeRead) {
  const Status opened = log_.open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("CAP_SYSLOG"));
  EXPECT_THAT(log_.look(1), IsEmpty());
  EXPECT_EQ(log_.source(), "");
}

}  // namespace
}  // namespace railgauge::agent
