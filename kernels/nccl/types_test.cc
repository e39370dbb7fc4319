// All types and reductions: what the fake really computes, rounded step by step, is found right,
// and the smallest change is found wrong.
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

struct Sort {
  std::string type;
  std::string reduction;
};
void PrintTo(const Sort& sort, std::ostream* out) { *out << sort.type << " " << sort.reduction; }

class EverySort : public OnFakeRanks, public ::testing::WithParamInterface<Sort> {};

TEST_P(EverySort, IsReducedRightOverFewAndManyRanks) {
  for (const std::uint32_t ranks : {1U, 2U, 7U})
    expect_passed(run("nccl.all_reduce", ranks,
                      {{"datatype", GetParam().type},
                       {"reduction", GetParam().reduction},
                       {"iterations", "1"},
                       {"sizes", "8KiB"}}));
}

TEST_P(EverySort, IsFoundWrongWhenAByteIs) {
  fake::cuda_control().flip_byte = 1;
  const auto results = run(
      "nccl.reduce_scatter", 2,
      {{"datatype", GetParam().type}, {"reduction", GetParam().reduction}, {"iterations", "1"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kDataLoss) << results[0].status.error().message;
}

std::vector<Sort> sorts() {
  std::vector<Sort> all;
  const KernelInfo info = find_kernel("nccl.all_reduce")->info();
  const auto choices = [&info](const char* name) {
    for (const ParameterInfo& parameter : info.parameters())
      if (parameter.name() == name) return parameter.choices();
    return ParameterInfo().choices();
  };
  for (const std::string& type : choices("datatype"))
    for (const std::string& reduction : choices("reduction")) all.push_back({type, reduction});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EverySort, ::testing::ValuesIn(sorts()), [](const auto& param) {
  return param.param.type + "_" + param.param.reduction;
});

}  // namespace
}  // namespace railgauge::nccl
