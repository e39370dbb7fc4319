// The host's side of verify.cu: launches its functions and turns what they found into a message.
#include "kernels/nccl/data.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

namespace railgauge::nccl {

extern const gpu::DeviceCode kVerifyCode;

namespace {

// Launch shapes: a grid-stride loop needs no exact count of blocks.
constexpr unsigned kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 8;

// One data type of NCCL: its name as a parameter, its size in bytes, and how its elements are
// printed.
struct TypeRow {
  const char* name;
  nc::DataType type;
  std::uint64_t bytes;
  bool is_signed;
  bool floating;
};
constexpr std::array kTypes{
    TypeRow{"float32", nc::kFloat32, 4, true, true},
    TypeRow{"float16", nc::kFloat16, 2, true, true},
    TypeRow{"bfloat16", nc::kBfloat16, 2, true, true},
    TypeRow{"float8e4m3", nc::kFloat8e4m3, 1, true, true},
    TypeRow{"float8e5m2", nc::kFloat8e5m2, 1, true, true},
    TypeRow{"float64", nc::kFloat64, 8, true, true},
    TypeRow{"int8", nc::kInt8, 1, true, false},
    TypeRow{"uint8", nc::kUint8, 1, false, false},
    TypeRow{"int32", nc::kInt32, 4, true, false},
    TypeRow{"uint32", nc::kUint32, 4, false, false},
    TypeRow{"int64", nc::kInt64, 8, true, false},
    TypeRow{"uint64", nc::kUint64, 8, false, false},
};
// One reduction, with its number in verify.cu.
struct ReductionRow {
  const char* name;
  nc::RedOp op;
  unsigned mode;  // of verify.cu
};
constexpr std::array kReductions{ReductionRow{"sum", nc::kSum, 1},
                                 ReductionRow{"prod", nc::kProd, 2},
                                 ReductionRow{"max", nc::kMax, 3}, ReductionRow{"min", nc::kMin, 4},
                                 ReductionRow{"avg", nc::kAvg, 5}};
constexpr unsigned kModeCopy = 0;

// A type that is not in the table is a programmer's error.
const TypeRow& row_of(nc::DataType type) {
  const auto* row = std::ranges::find(kTypes, type, &TypeRow::type);
  RG_CHECK(row != kTypes.end());
  return *row;
}

// Returns the formula that verify.cu uses for the input.
unsigned mode_of(const Values& values) {
  if (!values.reduced) return kModeCopy;
  const auto* row = std::ranges::find(kReductions, values.reduction, &ReductionRow::op);
  RG_CHECK(row != kReductions.end());
  return row->mode;
}

// An element for people: numbers in decimal, a floating-point pattern that is compared bit by bit
// in hexadecimal.
std::string element_text(std::uint64_t bits, const TypeRow& type, bool as_double) {
  if (as_double) return fmt::format("{}", std::bit_cast<double>(bits));
  if (type.floating) return fmt::format("0x{:0{}x}", bits, type.bytes * 2);
  if (!type.is_signed) return std::to_string(bits);
  const std::uint64_t unused = 64 - 8 * type.bytes;
  return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
}

// The names of a table's rows, in its order.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace

std::vector<std::string> datatype_names() { return names_of(kTypes); }
std::vector<std::string> reduction_names() { return names_of(kReductions); }

// The parameter's choices exclude other names.
nc::DataType datatype_of(std::string_view name) {
  const auto* row = std::ranges::find(kTypes, name, &TypeRow::name);
  RG_CHECK(row != kTypes.end());
  return row->type;
}

nc::RedOp reduction_of(std::string_view name) {
  const auto* row = std::ranges::find(kReductions, name, &ReductionRow::name);
  RG_CHECK(row != kReductions.end());
  return row->op;
}

std::uint64_t bytes_of(nc::DataType type) { return row_of(type).bytes; }

bool is_float8(nc::DataType type) { return type == nc::kFloat8e4m3 || type == nc::kFloat8e5m2; }

// The scratch page holds the results of check and description.
Result<Data> Data::create(const gpu::Gpu& gpu) {
  Data data(gpu);
  auto code = gpu::LoadedCode::load(gpu, kVerifyCode);
  if (!code)
    return fail(code.error().code, "{}; the data of a collective are made and compared by it",
                code.error().message);
  data.code_ = std::move(*code);
  data.fill_ = RG_TRY(data.code_.function("railgauge_nccl_fill"));
  data.check_ = RG_TRY(data.code_.function("railgauge_nccl_check"));
  data.describe_ = RG_TRY(data.code_.function("railgauge_nccl_tell"));
  data.scratch_ = RG_TRY(GpuBuffer::allocate(gpu.name(), GpuBuffer::kPageBytes));
  const int processors = std::max(1, RG_TRY(gpu.attribute(cu::kMultiprocessorCount)));
  data.most_blocks_ = static_cast<unsigned>(processors * kBlocksPerMultiprocessor);
  return data;
}

// The functions of verify.cu have the same arguments but for the last ones, which `more` points to.
// The driver copies them at the launch.
Status Data::queue(cu::Stream stream, cu::Function function, unsigned blocks, cu::DevicePtr memory,
                   const Segment& segment, const Values& values,
                   std::initializer_list<void*> more) {
  auto format = static_cast<unsigned>(values.type);
  unsigned mode = mode_of(values);
  cu::DevicePtr begin = memory + segment.offset * bytes_of(values.type);
  unsigned long long count = segment.count;
  unsigned long long seed = values.seed;
  unsigned long long ranks = values.ranks;
  long long source = segment.source;
  unsigned long long first = segment.first;
  std::vector<void*> arguments{&begin, &count, &format, &mode, &seed, &ranks, &source, &first};
  arguments.insert(arguments.end(), more);
  return gpu_status(*gpu_,
                    loaded_cuda().launch_kernel(function, blocks, 1, 1, kThreads, 1, 1, 0, stream,
                                                arguments.data(), nullptr),
                    "launch the kernel that checks data");
}

Status Data::launch(cu::Function function, unsigned blocks, cu::DevicePtr memory,
                    const Segment& segment, const Values& values,
                    std::initializer_list<void*> more) {
  RG_TRY_OK(queue(nullptr, function, blocks, memory, segment, values, more));
  return gpu_status(*gpu_, loaded_cuda().stream_synchronize(nullptr),
                    "run the kernel that checks data");
}

// As many as have an element each; a grid-stride loop needs no exact count.
unsigned Data::blocks_for(std::uint64_t count) const {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>((count + kThreads - 1) / kThreads, 1, most_blocks_));
}

Status Data::queue_fill(cu::Stream stream, cu::DevicePtr memory, std::uint64_t count,
                        const Values& values, std::uint32_t rank) {
  if (count == 0) return {};
  const Segment whole{.count = count, .source = static_cast<int>(rank)};
  return queue(stream, fill_, blocks_for(count), memory, whole, values, {});
}

Status Data::queue_check(cu::Stream stream, cu::DevicePtr memory, const Segment& segment,
                         const Values& values, cu::DevicePtr first_wrong) {
  if (segment.count == 0) return {};
  return queue(stream, check_, blocks_for(segment.count), memory, segment, values, {&first_wrong});
}

// The fresh input of one rank's whole buffer.
Status Data::fill(cu::DevicePtr memory, std::uint64_t count, const Values& values,
                  std::uint32_t rank) {
  RG_TRY_OK(queue_fill(nullptr, memory, count, values, rank));
  return gpu_status(*gpu_, loaded_cuda().stream_synchronize(nullptr),
                    "run the kernel that fills data");
}

Result<std::uint32_t> Data::first_wrong_block(cu::DevicePtr memory, const Segment& segment,
                                              const Values& values) {
  const Cuda& cuda = loaded_cuda();
  cu::DevicePtr result = scratch_.data();
  std::uint32_t first_wrong = kNothingWrong;
  RG_TRY_OK(gpu_status(*gpu_, cuda.memcpy_htod(result, &first_wrong, sizeof first_wrong),
                       "prepare to check data"));
  RG_TRY_OK(launch(check_, blocks_for(segment.count), memory, segment, values, {&result}));
  RG_TRY_OK(gpu_status(*gpu_, cuda.memcpy_dtoh(&first_wrong, result, sizeof first_wrong),
                       "read what the check found"));
  return first_wrong;
}

// Compares segment by segment; the first wrong one ends the check, because its message is the most
// useful.
Status Data::verify(cu::DevicePtr memory, std::span<const Segment> segments, const Values& values,
                    const std::string& what) {
  for (const Segment& segment : segments) {
    if (segment.count == 0) continue;
    const std::uint32_t wrong = RG_TRY(first_wrong_block(memory, segment, values));
    if (wrong == kNothingWrong) continue;
    return fail(Code::kDataLoss, "{}: {}", what,
                RG_TRY(difference(memory, segment, values, wrong)));
  }
  return {};
}

Result<bool> Data::holds(cu::DevicePtr memory, const Segment& segment, const Values& values) {
  return RG_TRY(first_wrong_block(memory, segment, values)) == kNothingWrong;
}

Result<std::string> Data::difference(cu::DevicePtr memory, const Segment& segment,
                                     const Values& values, std::uint64_t block) {
  unsigned long long number = block;
  cu::DevicePtr result = scratch_.data();
  RG_TRY_OK(launch(describe_, 1, memory, segment, values, {&number, &result}));
  std::array<std::uint64_t, 3> found{};
  RG_TRY_OK(gpu_status(*gpu_, loaded_cuda().memcpy_dtoh(found.data(), result, sizeof found),
                       "read which element is wrong"));
  const std::string from = segment.source == kReduced
                               ? fmt::format("reduced over {} ranks", values.ranks)
                               : fmt::format("from rank {}", segment.source);
  if (found[0] == 0)
    return fmt::format(
        "an element of {} to {} ({}) was wrong, and is right when it is read again",
        segment.offset + block * kBlock,
        segment.offset + std::min<std::uint64_t>(segment.count, (block + 1) * kBlock) - 1, from);
  const TypeRow& type = row_of(values.type);
  const bool as_double = segment.source == kReduced && type.floating;
  return fmt::format("element {} is {}, expected {} ({})", segment.offset + found[0] - 1,
                     element_text(found[2], type, as_double),
                     element_text(found[1], type, as_double), from);
}

}  // namespace railgauge::nccl
