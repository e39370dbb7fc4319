// The helper's lines, their parsing and their effect on an inventory; synthetic.
#include "agent/preflight/probe/helper.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/node_facts/facts.h"
#include "agent/testing/temp_dir.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

void add_device(const std::string& root, const std::string& address, const char* kind,
                std::size_t config_bytes) {
  const std::filesystem::path folder(root + "/sys/bus/pci/devices/" + address);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "class") << kind << '\n';
  std::ofstream(folder / "vendor") << "0x8086\n";
  std::ofstream(folder / "config") << std::string(config_bytes, '\x10');
}

TEST(NodeFacts, TellsBridgesGpusAndNicsAloneAndOfEachItsBytes) {
  const TempDir root;
  add_device(root.path(), "0000:17:00.0", "0x060400", 5000);
  add_device(root.path(), "0000:18:00.0", "0x030200", 64);
  add_device(root.path(), "0000:19:00.0", "0x010802", 64);  // a disk
  const std::string text = privileged_facts(root.path());
  EXPECT_THAT(text, Not(HasSubstr("0000:19:00.0")));
  const ConfigSpaces spaces = parse_node_facts(text).spaces;
  ASSERT_EQ(spaces.size(), 2U);
  EXPECT_EQ(spaces.at("0000:17:00.0").size(), 4096U);
  EXPECT_EQ(spaces.at("0000:18:00.0"), std::vector<std::uint8_t>(64, 0x10));
}

TEST(NodeFacts, LinesThatAreNoneAreLeftOut) {
  const NodeFacts none =
      parse_node_facts("pci_config 0000:17:00.0 1\npci_config a zz\nother\n\nkernel_log cut off");
  EXPECT_TRUE(none.spaces.empty());
  EXPECT_EQ(none.kernel_log, std::nullopt) << "without its end it may be a part";
}

TEST(NodeFacts, AHelperWithoutItsCapabilityChangesNothing) {
  Inventory node;
  PciDevice& device = node.pci["0000:17:00.0"];
  device.config.acs = Fact<PciAcs>::unknown("config", kNeedsSysAdmin);
  add_node_facts({.spaces = {{"0000:17:00.0", std::vector<std::uint8_t>(64)}}}, node);
  EXPECT_EQ(device.config.acs.reason, kNeedsSysAdmin);
}

TEST(NodeFacts, WhatWasKnownStays) {
  Inventory node;
  PciDevice& device = node.pci["0000:17:00.0"];
  device.config.acs = Fact<PciAcs>::known({.control = 7}, "config");
  device.config.pcie = Fact<PcieControl>::known({}, "config");
  add_node_facts({.spaces = {{"0000:17:00.0", std::vector<std::uint8_t>(4096)}}}, node);
  EXPECT_EQ(device.config.acs.value.control, 7);
}

constexpr const char* kLog =
    "6,0,10,-;Linux version 6.1\n"
    "4,2,20,-;NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
    " SUBSYSTEM=pci\n"
    "6,3,30,-;usb 1-1: a secret; of somebody\n"
    "3,4,40,c;mlx5_core 0000:18:00.0: temperature too high\n";

TEST(NodeFacts, TellsOfTheKernelsLogWhatConcernsUsAndNothingElse) {
  const TempDir root;
  EXPECT_THAT(privileged_facts(root.path()), Not(HasSubstr("kernel_log"))) << "it is not there";
  root.write("dev/kmsg", kLog);
  const NodeFacts facts = parse_node_facts(privileged_facts(root.path()));
  ASSERT_TRUE(facts.kernel_log);
  EXPECT_THAT(*facts.kernel_log,
              testing::ElementsAre("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",
                                   "mlx5_core 0000:18:00.0: temperature too high"));
  EXPECT_FALSE(facts.kernel_log_is_cut);
  EXPECT_THAT(privileged_facts_list(), HasSubstr("CAP_SYSLOG"));
}

TEST(NodeFacts, ALogThatTheKernelHasWrittenOverIsNotCalledWhole) {
  const TempDir root;
  root.write("dev/kmsg", "6,8123,10,-;usb 1-1: new\n4,8124,20,-;NVRM: loading\n");
  const NodeFacts facts = parse_node_facts(privileged_facts(root.path()));
  EXPECT_TRUE(facts.kernel_log_is_cut);
  Inventory node;
  add_node_facts(facts, node);
  EXPECT_TRUE(node.kernel_log_is_cut);
}

TEST(NodeFacts, AStormOfOtherLinesDoesNotPushAnXidOut) {
  const TempDir root;
  std::string log = "4,0,1,-;NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n";
  for (int i = 1; i < 2'000; ++i) log += fmt::format("3,{},1,-;pcieport 0000:16:00.0: AER: x\n", i);
  root.write("dev/kmsg", log);
  const NodeFacts facts = parse_node_facts(privileged_facts(root.path()));
  EXPECT_THAT(facts.kernel_log.value().front(), HasSubstr("79, GPU has fallen"));
  EXPECT_FALSE(facts.kernel_log_is_cut) << "nothing that decides was lost";
}

TEST(NodeFacts, OfAnEndlessLogTheNewestLinesAreKept) {
  const TempDir root;
  std::string log;
  for (int i = 0; i < 5'000; ++i) log += fmt::format("6,{0},1,-;NVRM: line {0}\n", i);
  root.write("dev/kmsg", log + "6,1,1,-;NVRM: " + std::string(3'000, 'x') + "\n");
  const auto lines = parse_node_facts(privileged_facts(root.path())).kernel_log.value();
  ASSERT_EQ(lines.size(), 400U);
  EXPECT_EQ(lines.front(), "NVRM: line 4601");
  EXPECT_EQ(lines.back().size(), 1000U);
}

TEST(NodeFacts, ALogThatNobodyMayReadIsLearntAndOneThatWasReadStays) {
  Inventory node;
  node.kernel_log = Fact<std::vector<std::string>>::unknown("/dev/kmsg", "needs CAP_SYSLOG");
  add_node_facts({.kernel_log = std::vector<std::string>{"NVRM: a"}}, node);
  EXPECT_THAT(node.kernel_log.value, testing::ElementsAre("NVRM: a"));
  EXPECT_THAT(node.kernel_log.source, HasSubstr("railgauge-node-facts"));
  add_node_facts({.kernel_log = std::vector<std::string>{"NVRM: b"}}, node);
  EXPECT_THAT(node.kernel_log.value, testing::ElementsAre("NVRM: a"));
}

// An ordinary user's view of a NIC.
Inventory plain_inventory(std::uint32_t device_id = 0x1021) {
  Inventory node;
  PciDevice& nic = node.pci["0000:18:00.0"];
  nic.address = "0000:18:00.0";
  nic.vendor.value = 0x15b3;
  nic.device.value = device_id;
  nic.config.pcie = Fact<PcieControl>::unknown("config", kNeedsSysAdmin);
  nic.config.acs = Fact<PciAcs>::unknown("config", kNeedsSysAdmin);
  return node;
}

std::uint32_t read_request_of(const Inventory& node) {
  return node.pci.at("0000:18:00.0").config.pcie.value_or({}).max_read_request_bytes;
}

TEST(ConfigKeeper, WhatTheHelperToldStaysInAnInventoryThatIsReadAgain) {
  std::uint32_t bytes = 4096;
  int asked = 0;
  ConfigKeeper keeper([&](Inventory& node) {
    ++asked;
    node.pci["0000:18:00.0"].config.pcie =
        Fact<PcieControl>::known({.max_read_request_bytes = bytes}, "helper");
  });
  Inventory before = plain_inventory();
  EXPECT_TRUE(keeper.complete({}, before, 0));
  EXPECT_EQ(read_request_of(before), 4096U);
  bytes = 512;  // reset by an upgrade
  Inventory soon = plain_inventory();
  EXPECT_FALSE(keeper.complete(before, soon, 30e9));
  EXPECT_EQ(read_request_of(soon), 4096U);
  Inventory later = plain_inventory();
  EXPECT_TRUE(keeper.complete(soon, later, ConfigKeeper::kAskNs + 1));
  EXPECT_EQ(read_request_of(later), 512U);
  EXPECT_EQ(asked, 2);
}

TEST(ConfigKeeper, ADeviceThatIsNewIsAskedForAtOnceAndNotTakenForTheOldOne) {
  int asked = 0;
  ConfigKeeper keeper([&](Inventory&) { ++asked; });
  Inventory before = plain_inventory();
  before.pci["0000:18:00.0"].config.pcie =
      Fact<PcieControl>::known({.max_read_request_bytes = 4096}, "helper");
  keeper.complete(before, before, 0);
  Inventory other = plain_inventory(0x1023);
  EXPECT_TRUE(keeper.complete(before, other, 30e9));
  EXPECT_EQ(read_request_of(other), 0U);
  EXPECT_EQ(asked, 2);
}

TEST(NodeFacts, AnyTextIsAnswered) {
  std::mt19937 random(3);
  const std::string whole =
      "pci_config 0000:17:00.0 0011ff\nkernel_log NVRM: \xff\nkernel_log_end\n";
  for (int round = 0; round < 5'000; ++round) {
    std::string text = whole + whole;
    for (int edits = round % 6; edits > 0; --edits)
      text[random() % text.size()] = static_cast<char>(random());
    for (const std::string& line :
         parse_node_facts(text).kernel_log.value_or(std::vector<std::string>{}))
      ASSERT_EQ(line, valid_utf8(line));
  }
}

// A service behind a socket that sends `text` and closes, or does not close.
class Service {
 public:
  Service(const std::string& path, std::string text, bool closes) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    RG_CHECK(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
             0);
    RG_CHECK(::listen(listener_.get(), 4) == 0);
    thread_ = std::thread([this, told = std::move(text), closes] {
      Fd client(::accept(listener_.get(), nullptr, nullptr));
      static_cast<void>(!::send(client.get(), told.data(), told.size(), MSG_NOSIGNAL));
      if (closes) client.reset();
      char gone = 0;  // until the other end closes
      if (client) static_cast<void>(!::read(client.get(), &gone, 1));
    });
  }
  ~Service() { thread_.join(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  Fd listener_;
  std::thread thread_;
};

TEST(NodeFactsSocket, AnAnswerIsReadToItsEnd) {
  const TempDir folder;
  const std::string text(300'000, 'x');
  const Service service(folder / "s", text, true);
  EXPECT_EQ(read_socket(folder / "s", 60, 1U << 20U).value(), text);
}

TEST(NodeFactsSocket, OneThatDoesNotEndOrTellsTooMuchIsGivenUp) {
  const TempDir folder;
  {
    const Service service(folder / "slow", "begin", false);
    EXPECT_EQ(read_socket(folder / "slow", 0.05, 1000).error().code, Code::kDeadlineExceeded);
  }
  const Service service(folder / "large", std::string(5'000, 'x'), true);
  EXPECT_EQ(read_socket(folder / "large", 60, 1000).error().code, Code::kResourceExhausted);
}

TEST(NodeFactsSocket, NobodyThereIsNoTrouble) {
  const TempDir folder;
  EXPECT_EQ(read_socket(folder / "none", 1, 1000).error().code, Code::kNotFound);
  EXPECT_EQ(read_socket(std::string(200, 'x'), 1, 1000).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace railgauge::agent
