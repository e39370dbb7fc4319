// The variables of nccl-tests, as the parameters of a call.
#include "kernels/peers/nccl_tests/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalog.h"
#include "kernels/peers/nccl_tests/options.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;
using Words = std::vector<std::string>;

NcclTestsCall call_in(const char* program, const Words& words,
                      const NcclTestsEnvironment& environment) {
  auto out =
      read_nccl_tests_call(*find_nccl_tests_program(program), words, find_kernel, 0, environment);
  EXPECT_TRUE(out) << out.error().message;
  return out.value_or(NcclTestsCall{});
}
std::string refusal_in(const Words& words, const NcclTestsEnvironment& environment) {
  const auto out = read_nccl_tests_call(*find_nccl_tests_program("alltoallv_perf"), words,
                                        find_kernel, 0, environment);
  EXPECT_FALSE(out);
  return out ? "accepted" : out.error().message;
}

TEST(NcclTestsVariables, OfASplitAreAParameterOfEveryProgram) {
  EXPECT_THAT(
      call_in("all_reduce_perf", {"-g", "4"}, {{"NCCL_TESTS_SPLIT", "MOD 2"}}).tasks[0].parameters,
      IsSupersetOf({Pair("split", "MOD 2")}));
  EXPECT_THAT(
      call_in("all_reduce_perf", {"-g", "4"}, {{"NCCL_TESTS_SPLIT_MASK", "1"}}).tasks[0].parameters,
      IsSupersetOf({Pair("split", "and 0x1")}));
}

TEST(NcclTestsVariables, OfAMatrixGiveItsProportionsAndItsSize) {
  const NcclTestsCall said = call_in(
      "alltoallv_perf", {"-g", "2"},
      {{kMatrixVariable, "0 64 9\n47.5 0 9\n9 9 9\n"}, {"NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", "2"}});
  // 47.5 twice is 95, cut to 80; the third row and column are of no rank.
  EXPECT_THAT(said.tasks[0].parameters,
              IsSupersetOf({Pair("traffic", "0 8;5 0"), Pair("sizes", "128")}));
  EXPECT_THAT(said.infos, ElementsAre(HasSubstr("128 B of the busiest rank")));
  EXPECT_THAT(refusal_in({"-b", "1M", "-e", "2M"}, {{kMatrixVariable, "64"}}),
              HasSubstr("a matrix has one size"));
  EXPECT_THAT(refusal_in({"-g", "2"}, {{kMatrixVariable, "64"}}), HasSubstr("must be square"));
  EXPECT_THAT(refusal_in({}, {{kMatrixVariable, "-64"}}), HasSubstr("is no number of bytes"));
  EXPECT_THAT(refusal_in({}, {{kMatrixVariable, "15"}}), HasSubstr("below 16 bytes"));
}

TEST(NcclTestsVariables, OfASpreadAreBoundedAndOthersAreTold) {
  const NcclTestsCall said = call_in(
      "alltoallv_perf", {},
      {{"NCCL_TESTS_ALLTOALLV_SPREAD", "1.5"}, {"NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY", "1"}});
  EXPECT_THAT(said.tasks[0].parameters, IsSupersetOf({Pair("spread", "1")}));
  EXPECT_THAT(said.infos, ElementsAre("NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY changes nothing here"));
}

TEST(NcclTestsVariables, ThatWouldChangeTheMeasurementAreRefused) {
  EXPECT_THAT(refusal_in({}, {{"NCCL_TESTS_DEVICE", "3"}}), HasSubstr("CUDA_VISIBLE_DEVICES"));
  EXPECT_THAT(refusal_in({}, {{"NCCL_TESTS_MIN_BW", "10"}}), HasSubstr("criteria"));
}

}  // namespace
}  // namespace railgauge
