// The text of runs and its verbs for answers of a controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class RunsVerb : public Commands {
 protected:
  static constexpr const char* kRun = "r-20261120-120000-1";
};

TEST_F(RunsVerb, ARunWithMoreTasksThanAListHasSaysSoAndNamesWhatShowsTheRest) {
  control_.detail.clear_tasks();
  control_.tasks_total = 262'144;
  for (const Format format : {Format::kTable, Format::kCsv, Format::kNdjson}) {
    EXPECT_EQ(run({"runs", "show", kRun, "--tasks"}, format), kExitPassed) << err_;
    EXPECT_THAT(err_, AllOf(HasSubstr("its 262144 tasks are in no list, which has at most 200000"),
                            HasSubstr("railgauge runs show r-20261120-120000-1 in groups"),
                            HasSubstr("railgauge sql, table task"),
                            HasSubstr("railgauge export r-20261120-120000-1 with")));
  }
  control_.tasks_total = 12;
  EXPECT_EQ(run({"runs", "show", kRun, "--tasks"}), kExitPassed) << err_;
  EXPECT_THAT(err_, HasSubstr("none of its 12 tasks is listed before its round begins"));
  control_.tasks_total = 0;
  EXPECT_EQ(run({"runs", "show", kRun, "--tasks"}), kExitPassed) << err_;
  EXPECT_THAT(err_, IsEmpty());
}

}  // namespace
}  // namespace railgauge::cli
