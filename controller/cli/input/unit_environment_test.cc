#include "controller/cli/input/unit_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(UnitEnvironment, HasTheFilesVariablesAndNoneOfThisProgram) {
  EXPECT_THAT(unit_environment({"PATH=/bin", "RAILGAUGE_LISTEN=:1", "RAILGAUGE_TLS_KEY=mine"},
                               "# RAILGAUGE_NAME=a\nRAILGAUGE_LISTEN=0.0.0.0:7443\n"),
              ElementsAre("PATH=/bin", "RAILGAUGE_LISTEN=0.0.0.0:7443"));
  EXPECT_THAT(unit_environment({"RAILGAUGE_LISTEN=:1"}, ""), IsEmpty());
}

TEST(UnitEnvironment, IsReadAsSystemdReadsIt) {
  EXPECT_THAT(unit_environment({"PATH=/bin"},
                               " A = one two \n;B=1\nC=\"x # y\"\nD='z'\nno setting\nA=\\\n later\n"
                               "PATH=/usr/bin\nE=a=b"),
              ElementsAre("C=x # y", "D=z", "A=later", "PATH=/usr/bin", "E=a=b"));
}

}  // namespace
}  // namespace railgauge::cli
