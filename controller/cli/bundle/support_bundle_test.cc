// The archive that `bundle` writes, unpacked by the system's tar.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Bundles : public Commands {};

TEST_F(Bundles, ABundleIsATarOfReadableFilesWithoutNamesWhereThatIsAsked) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / fmt::format("rg_bundle_{}", getpid())).string();
  std::filesystem::create_directory(folder);
  const auto bundle = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> words{"bundle", std::string(kSampleRun), "--file",
                                   folder + "/" + name};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(run(words), kExitPassed) << err_;
    EXPECT_EQ(std::system(fmt::format("tar -C {0} -xf {0}/{1}", folder, name).c_str()), 0);
    std::string all;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
      if (file.path().extension() != ".tar" && file.is_regular_file()) {
        std::stringstream text;
        text << std::ifstream(file.path()).rdbuf();
        all += file.path().filename().string() + "\n" + text.str();
      }
    return all;
  };
  const std::string plain = bundle("plain.tar", {});
  for (const char* file : {"README.txt", "report.txt", "report.json", "nodes.csv", "events.csv",
                           "results.csv", "topology.csv", "vendor_commands.csv", "nccl-tests,"})
    EXPECT_THAT(plain, HasSubstr(file));
  for (const char* task : {"perftest,t1,", "perftest,t2,", "MTU is 1024", "2 tasks ended"})
    EXPECT_THAT(plain, HasSubstr(task)) << "both pages of tasks";
  EXPECT_THAT(plain, HasSubstr("n1/"));
  EXPECT_THAT(plain, HasSubstr("192.0.2.1"));
  EXPECT_THAT(plain, Not(HasSubstr("API_TOKEN=abc"))) << "secrets never leave";
  const std::string redacted = bundle("redacted.tar", {"--redact"});
  EXPECT_THAT(redacted, ContainsRegex("node-1: .* has API_TOKEN=.left out.;"));
  EXPECT_THAT(redacted, Not(HasSubstr("n1/")));
  EXPECT_THAT(redacted, Not(HasSubstr("192.0.2.1")));
  for (const char* name : {"N1 ", "OLD-NAME", "partner", "elsewhere", "known_names", "sw-13",
                           "SW-12a", "Grace Hopper"})
    EXPECT_THAT(redacted, Not(HasSubstr(name)));
  EXPECT_THAT(redacted, ContainsRegex("cancelled by person-[0-9]"));
  for (const char* name : {"OLD-NAME", "partner", "SW-12a", "sw-13", "Grace Hopper"})
    EXPECT_THAT(plain, HasSubstr(name));
  EXPECT_EQ(run({"bundle", std::string(kSampleRun), "--file", folder + "/plain.tar"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("is there already"));
  EXPECT_EQ(run({"bundle", "nowhere", "--file", folder + "/none.tar"}), kExitUsage);
  EXPECT_FALSE(std::filesystem::exists(folder + "/none.tar.part"));
  EXPECT_NE(run({"bundle", std::string(kSampleRun), "--file", "/nonexistent/x.tar"}), kExitPassed);
  EXPECT_THAT(err_, HasSubstr("cannot be written"));
  const std::string taken = folder + "/folder.tar";
  archive_.on_bundle_part = [&taken] { std::filesystem::create_directory(taken); };
  EXPECT_NE(run({"bundle", std::string(kSampleRun), "--file", taken}), kExitPassed);
  EXPECT_THAT(err_, HasSubstr("cannot be written: ")) << "no bundle has its name";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace railgauge::cli
