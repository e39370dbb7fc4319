#include "agent/os/confinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(RunnerEnvironment, HasTheSystemsAndTheLibrariesVariables) {
  const std::vector<std::string> all{"PATH=/usr/bin",
                                     "HOME=/home",
                                     "LC_ALL=C",
                                     "LD_LIBRARY_PATH=/opt/lib",
                                     "CUDA_CACHE_PATH=/var/cache",
                                     "NCCL_IB_PKEY=1",
                                     "UCX_TLS=rc",
                                     "OMPI_MCA_pml=ucx",
                                     "RAILGAUGE_LIBCUDA=/lib",
                                     "RAILGAUGE_FAKE_CUDA=gpus=2",
                                     "RAILGAUGE_MPI_INSTALLATIONS=x=openmpi:/opt",
                                     "RAILGAUGE_DATA_ADDRESS=10.0.0.1"};
  EXPECT_EQ(runner_environment(all, {}), all);
}

TEST(RunnerEnvironment, HasNeitherTheAgentsSettingsNorSecretsNorAnythingElse) {
  EXPECT_THAT(
      runner_environment(
          {"RAILGAUGE_TLS_KEY=/k", "RAILGAUGE_TLS_CERT=/c", "RAILGAUGE_CONTROLLER=h:1",
           "RAILGAUGE_STATE_DIR=/s", "AWS_SECRET_ACCESS_KEY=x", "NCCL_AUTH_TOKEN=x", "SLURM_JWT=x",
           "OMPI_MCA_PASSWORD=x", "UCX_PRIVATE=x", "LD_PRELOAD=/x.so", "SSH_AUTH_SOCK=/x",
           "CREDENTIALS_DIRECTORY=/x", "INVOCATION_ID=1", "PATHS=/x", "no word"},
          {}),
      IsEmpty());
}

TEST(RunnerEnvironment, HasWhatTheOperatorNamesButNoSettingOfTheAgent) {
  EXPECT_THAT(runner_environment({"SITE_LICENCE=1", "SITE_B=2", "OTHER=3", "RAILGAUGE_TLS_KEY=/k",
                                  "SITE_TOKEN=4", "MY_TOKEN=5"},
                                 {"SITE_*", "RAILGAUGE_TLS_KEY", "MY_TOKEN"}),
              ElementsAre("SITE_LICENCE=1", "SITE_B=2", "MY_TOKEN=5"))
      << "a secret only by its whole name";
}

TEST(RunnerEnvironment, ReadsNamesByCommas) {
  const auto names = read_variables(" SITE_*, LICENCE ,,_x9");
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("SITE_*", "LICENCE", "_x9"));
  EXPECT_THAT(*read_variables(""), IsEmpty());
}

TEST(RunnerEnvironment, RefusesWhatNamesNoVariableOrTheAgentsOwn) {
  for (const char* text : {"*", "A=B", "9A", "A-B", "A*B", "A**", "é"})
    EXPECT_FALSE(read_variables(text)) << text;
  for (const char* text : {"RAILGAUGE_TLS_KEY", "RAILGAUGE_*"}) {
    const auto names = read_variables(text);
    ASSERT_FALSE(names) << text;
    EXPECT_THAT(names.error().message, HasSubstr("is the agent's own setting"));
  }
}

TEST(Confinement, KeepsTheRunnersWords) {
  const Confinement confinement{.keeper = "/bin/keeper", .hidden = {"/etc/key", "/state"}};
  const auto words = kept_words(confinement, {"/bin/runner", "--task"}, 2.5);
  ASSERT_GT(words.size(), 5u);
  EXPECT_EQ(words[0], "/bin/keeper");
  EXPECT_EQ(words[3], "2500");
  EXPECT_THAT((std::vector<std::string>(words.end() - 3, words.end())),
              ElementsAre("/bin/runner", "/bin/runner", "--task"));
  EXPECT_THAT(words, testing::IsSupersetOf({"--hide", "/etc/key", "/state", "core=0"}));
}

TEST(Confinement, IsDescribedByWhatTheKernelCan) {
  EXPECT_THAT(describe_confinement(0), HasSubstr("a runner can read the agent's key"));
  EXPECT_THAT(describe_confinement(1), HasSubstr("can send signals to the agent"));
  EXPECT_THAT(describe_confinement(7), StartsWith("landlock 7: files and signals"));
}

}  // namespace
}  // namespace railgauge::agent
