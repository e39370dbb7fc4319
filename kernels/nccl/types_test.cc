// All types and reductions: the fake's actual results, rounded step by step, must pass, and the
// smallest change must fail. Input, arithmetic and check run without tasks, so that ranks cost
// nothing; a few types go through tasks too.
#include <algorithm>
#include <cstring>

#include "kernels/fakes/nccl/nccl_objects.h"
#include "kernels/nccl/data.h"
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

constexpr std::uint64_t kElements = 2000;

struct Sort {
  std::string type;
  std::string reduction;
};
void PrintTo(const Sort& sort, std::ostream* out) { *out << sort.type << " " << sort.reduction; }

// The reduction over `ranks` inputs, with `wrong` one bit of one element changed.
Status reduce_and_verify(const Sort& sort, std::uint32_t ranks, bool wrong) {
  const gpu::Gpu gpu = RG_TRY(gpu::Gpu::open("gpu0"));
  RG_TRY_OK(gpu.make_current());
  Data data = RG_TRY(Data::create(gpu));
  const Values values{.type = datatype_of(sort.type),
                      .reduced = true,
                      .reduction = reduction_of(sort.reduction),
                      .seed = 5,
                      .ranks = ranks};
  const std::uint64_t bytes = kElements * bytes_of(values.type);
  const GpuBuffer memory = RG_TRY(GpuBuffer::allocate(gpu.name(), bytes));
  std::vector<fake::Bytes> inputs(ranks, fake::Bytes(bytes));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RG_TRY_OK(data.fill(memory.data(), kElements, values, rank));
    RG_TRY_OK(gpu_status(gpu, loaded_cuda().memcpy_dtoh(inputs[rank].data(), memory.data(), bytes),
                         "read"));
  }
  fake::Bytes result = fake::reduce(inputs, values.type, values.reduction);
  if (wrong) result[kElements / 2 * bytes_of(values.type)] ^= 1U;
  RG_TRY_OK(gpu_status(gpu, loaded_cuda().memcpy_htod(memory.data(), result.data(), bytes), "put"));
  const std::vector<Segment> all{{.count = kElements}};
  return data.verify(memory.data(), all, values, "reduced");
}

class EverySort : public OnFakeRanks, public ::testing::WithParamInterface<Sort> {};

TEST_P(EverySort, IsReducedRightOverFewAndManyRanks) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 7U, 8U, 100U}) {
    const Status verified = reduce_and_verify(GetParam(), ranks, false);
    EXPECT_TRUE(verified) << ranks << " ranks: " << verified.error().message;
  }
}

TEST_P(EverySort, IsFoundWrongWhenABitIs) {
  for (const std::uint32_t ranks : {1U, 2U, 8U}) {
    const Status verified = reduce_and_verify(GetParam(), ranks, true);
    ASSERT_FALSE(verified) << ranks << " ranks";
    EXPECT_EQ(verified.error().code, Code::kDataLoss) << verified.error().message;
    EXPECT_THAT(verified.error().message, ::testing::HasSubstr("element 1000 is "));
  }
}

std::vector<Sort> sorts() {
  std::vector<Sort> all;
  for (const std::string& type : datatype_names())
    for (const std::string& reduction : reduction_names()) all.push_back({type, reduction});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EverySort, ::testing::ValuesIn(sorts()), [](const auto& param) {
  return param.param.type + "_" + param.param.reduction;
});

class Sorts : public OnFakeRanks {};

// Each kind of arithmetic once, and each reduction.
TEST_F(Sorts, GoThroughTasksAsTheyAreDeclared) {
  const std::vector<Sort> some{{"float32", "sum"}, {"float64", "prod"},   {"bfloat16", "avg"},
                               {"float16", "max"}, {"float8e4m3", "min"}, {"float8e5m2", "sum"},
                               {"uint8", "avg"},   {"int64", "sum"}};
  for (const Sort& sort : some) {
    SCOPED_TRACE(sort.type + " " + sort.reduction);
    expect_passed(run("nccl.all_reduce", 3,
                      {{"datatype", sort.type},
                       {"reduction", sort.reduction},
                       {"iterations", "1"},
                       {"sizes", "8KiB"}}));
  }
  fake::cuda_control().flip_byte = 1;
  const auto results =
      run("nccl.reduce_scatter", 2, {{"datatype", "bfloat16"}, {"reduction", "prod"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kDataLoss) << results[0].status.error().message;
}

}  // namespace
}  // namespace railgauge::nccl
