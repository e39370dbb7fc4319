#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include <gmock/gmock.h>

#include "agent/inventory/sources/sources.h"
#include "agent/testing/temp_dir.h"
#include "kernels/core/base/fd.h"

namespace railgauge::agent {
namespace {

// A socket simulates a device that its mode allows to open and something else refuses.
TEST(DeviceNodes, OfThisMachineAreOpenedSinceAModeSaysLittle) {
  const TempDir root;
  const std::string path = root / "uverbs0";
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const NodeFiles machine{InventoryOptions{}};
  const Fact<bool> refused = can_open(machine, path);
  EXPECT_TRUE(refused.is(false));
  EXPECT_THAT(refused.reason, testing::HasSubstr("No such device"));
  EXPECT_TRUE(can_open(NodeFiles({.root = root.path()}), "/uverbs0").is(true)) << "a tree of files";
  root.write("rdma_cm", "");
  EXPECT_TRUE(can_open(machine, root / "rdma_cm").is(true));
  EXPECT_TRUE(can_open(machine, root / "uverbs9").is_absent());
}

}  // namespace
}  // namespace railgauge::agent
