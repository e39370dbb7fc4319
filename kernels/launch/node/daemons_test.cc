// The target node's own check of a request, whatever the launcher's node has allowed.
#include "kernels/launch/node/daemons.h"

#include <poll.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "kernels/core/base/clock.h"
#include "kernels/launch/node/folder.h"
#include "kernels/launch/testing/proxy.h"

namespace railgauge {
namespace {

using ::testing::HasSubstr;

LaunchAsk ask() {
  LaunchAsk out;
  out.set_number(7);
  for (const std::string& word : testing_proxy::words()) out.add_words(word);
  return out;
}

TEST(MpiDaemons, StartNothingWithoutALeaseThatCoversIt) {
  const launch::Lease good = testing_proxy::lease();
  const auto why = [&](const launch::Lease& lease, const LaunchAsk& asked) {
    std::vector<LaunchNews> news;
    MpiDaemons daemons({.keeper = "/nowhere",
                        .daemon = "",
                        .shim = testing_proxy::kShim,
                        .lease = lease,
                        .environment = {}},
                       [&](LaunchNews one) { news.push_back(std::move(one)); });
    std::string refused = daemons.start(asked);
    EXPECT_EQ(news.size(), 1U);
    EXPECT_EQ(news[0].number(), 7U);
    EXPECT_EQ(news[0].refused(), refused);
    EXPECT_TRUE(daemons.empty());
    return refused;
  };
  EXPECT_THAT(why(good, ask()), HasSubstr("has no hydra_pmi_proxy"));  // it would have been started
  launch::Lease bad = good;
  bad.expires_monotonic_ns = monotonic_now_ns();
  EXPECT_THAT(why(bad, ask()), HasSubstr("its lease has expired"));
  bad = good;
  bad.nodes = {"192.0.2.3"};
  EXPECT_THAT(why(bad, ask()), HasSubstr("is none of its nodes"));
  bad = good;
  bad.launchers = {"192.0.2.9"};
  EXPECT_THAT(why(bad, ask()), HasSubstr("not its launcher's address"));
  LaunchAsk shell = ask();
  *shell.mutable_words(1) = "/bin/sh";
  EXPECT_THAT(why(good, shell), HasSubstr("program"));
}

// Hydra names the launcher's interface to every node; the same network may have another name here,
// and that name may be another network's.
TEST(MpiDaemons, BindHydrasProxyToThisNodesOwnInterface) {
  const OwnFolder folder = std::move(*OwnFolder::make());
  const std::string keeper = folder.path() + "/keeper";
  std::ofstream(keeper) << "#!/bin/sh\necho \"$*\"\n";
  std::filesystem::permissions(keeper, std::filesystem::perms::owner_all);
  std::string said;
  MpiDaemons daemons({.keeper = keeper,
                      .daemon = "/opt/hydra_pmi_proxy",
                      .shim = testing_proxy::kShim,
                      .lease = testing_proxy::lease(),
                      .environment = {},
                      .interface = "ens3f0"},
                     [&](const LaunchNews& one) { said += one.out() + one.err() + one.refused(); });
  EXPECT_EQ(daemons.start(ask()), "");
  while (!daemons.empty()) {
    std::vector<pollfd> set;
    daemons.add_to(set);
    ::poll(set.data(), set.size(), 100);
    daemons.service();
  }
  EXPECT_THAT(said, HasSubstr(" --iface ens3f0 --pgid 0 "));
}

}  // namespace
}  // namespace railgauge
