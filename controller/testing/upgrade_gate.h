// A whole controller with four scripted nodes that can be upgraded, and the CLI's program. Points
// are synthetic: what a node "measures" is what its script says.
#pragma once

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge::testing_agent {

class UpgradeGate : public testing::Test {
 protected:
  void SetUp() override {
    bench_.write("upgrade.yaml",
                 "version: 1\nmetadata: {name: upgrade}\nstages:\n  - kernel: fake.lat\n    "
                 "placement: {pairs: ring}\n    repetitions: 5\n");
    bench_.start();
    for (const char* name : {"n1", "n2", "n3", "n4"}) boot(name, "6.1.0");
  }
  // The node is back with that kernel, whose figures are such.
  void boot(const std::string& name, const std::string& kernel, double median = 1'500,
            Script script = Script::kPass, bool has_nic = true,
            const std::string& railgauge = "1.0") {
    agents_.erase(name);
    auto options = bench_.agent(name, script);
    options.incarnation = name + kernel + std::to_string(++boots_);
    options.stack = {{"linux_kernel", kernel}, {"railgauge", railgauge}};
    if (learnt_.contains(name))
      options.stack["gpu_driver"] = "580.95";
    else
      options.stack["gpu_driver"] = "unknown";
    if (ids_.contains(name)) options.node_id = ids_[name];
    options.median = median;
    options.change_hello = change_hello_;
    options.has_nic = has_nic;
    // A node of another id is refused for as long as the one before it may come back.
    bool is_in = false;
    for (int tries = 0; !is_in && tries < 100; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      agents_[name] = std::make_unique<ScriptedAgent>(options);
      is_in = welcome(*agents_[name]);
    }
    ASSERT_TRUE(is_in);
  }
  // It can read its GPU driver's version from now on.
  void learn(const std::string& name) {
    learnt_.insert(name);
    boot(name, "6.1.0");
  }
  // The exit code; what was printed is in said_.
  int cli(const std::string& words) {
    const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
    const std::string line =
        fmt::format("{}/bin/railgauge --controller {} {} 2>&1",
                    build == nullptr ? "build/dev" : build, bench_.target(), words);
    said_.clear();
    FILE* pipe = ::popen(line.c_str(), "r");
    std::array<char, 4096> chunk{};
    for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
      said_.append(chunk.data(), n);
    return WEXITSTATUS(::pclose(pipe));
  }
  void prepare() { ASSERT_EQ(cli("upgrades prepare --nodes n1,n2"), 0) << said_; }
  // Upgrades n1 and n2 to a kernel whose figures are worse by a third; upgrade_ is that upgrade,
  // and said_ the list of findings with its own.
  void lose_by_upgrade() {
    prepare();
    boot("n1", "6.5.0", 2'000);
    boot("n2", "6.5.0", 2'000);
    ASSERT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
    ASSERT_EQ(cli("findings"), 0);
    const std::size_t at = said_.find("\nu") + 1;
    upgrade_ = said_.substr(at, said_.find("-performance") - at);
  }

  ServerBench bench_;
  std::map<std::string, std::unique_ptr<ScriptedAgent>> agents_;
  std::set<std::string> learnt_;
  std::map<std::string, std::string> ids_;  // where they are others than bench_.agent() gives
  std::string said_;
  std::string upgrade_;
  int boots_ = 0;
  std::function<void(api::Hello&)> change_hello_{};  // of nodes that boot later
};

}  // namespace railgauge::testing_agent
