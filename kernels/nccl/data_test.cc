// Verification for more ranks than the fakes have GPUs: wrong data must be found.
#include "kernels/nccl/data.h"

#include <vector>

#include "kernels/fakes/gpu_fixture.h"

namespace railgauge::nccl {
namespace {

constexpr std::uint64_t kElements = 4096;

class VerifiedData : public gpu::OnFakes {
 protected:
  // Whether memory full of zeros passes as the average over so many ranks.
  static Status verify_zeros(nc::DataType type, std::uint32_t ranks) {
    const gpu::Gpu gpu = RG_TRY(gpu::Gpu::open("gpu0"));
    RG_TRY_OK(gpu.make_current());
    Data data = RG_TRY(Data::create(gpu));
    const std::uint64_t bytes = kElements * bytes_of(type);
    const GpuBuffer memory = RG_TRY(GpuBuffer::allocate(gpu.name(), bytes));
    RG_TRY_OK(gpu_status(gpu, loaded_cuda().memset_d8(memory.data(), 0, bytes), "clear"));
    const Values values{
        .type = type, .reduced = true, .reduction = nc::kAvg, .seed = 7, .ranks = ranks};
    const std::vector<Segment> all{{.count = kElements}};
    return data.verify(memory.data(), all, values, "zeros");
  }
};

TEST_F(VerifiedData, OfIntegersOverManyRanksIsNotZero) {
  for (const nc::DataType type : {nc::kInt32, nc::kUint32, nc::kInt64, nc::kUint64})
    for (const std::uint32_t ranks : {2U, 64U, 200U, 10'000U}) {
      const Status verified = verify_zeros(type, ranks);
      ASSERT_FALSE(verified) << type << " over " << ranks;
      EXPECT_EQ(verified.error().code, Code::kDataLoss) << verified.error().message;
    }
  for (const nc::DataType type : {nc::kInt8, nc::kUint8})
    for (const std::uint32_t ranks : {2U, 8U, 9U, 64U, 127U}) {
      const Status verified = verify_zeros(type, ranks);
      ASSERT_FALSE(verified) << type << " over " << ranks;
      EXPECT_EQ(verified.error().code, Code::kDataLoss) << verified.error().message;
    }
}

}  // namespace
}  // namespace railgauge::nccl
