// The chain's layout in memory, its launches over the multiprocessors, and the proof of its end.
#include "kernels/cuda/chase.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "kernels/core/cpu/cache.h"
#include "kernels/core/text/units.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/route/plan.h"

namespace railgauge::cuda {

extern const gpu::DeviceCode kChaseCode;

namespace {

// The same chain in every run: a random order that changed would be another measurement.
constexpr std::uint64_t kChainSeed = 1;
// Waits for a copy. A copy from pageable memory may return before the GPU has it, and our streams
// wait for no other.
Status settle(const gpu::Gpu& gpu) {
  return gpu_status(gpu, loaded_cuda().ctx_synchronize(), "wait for a copy to it");
}

// Beside the cache of the memory's owner: the second level of a GPU, the last one of the CPU, which
// a GPU's reads of host memory look into.
Result<std::string> buffer_words(const Params& params, const Area& memory) {
  if (params.effective().contains("host_memory") &&
      host_memory_of(params.text("host_memory")) == HostMemory::kWriteCombined)
    return "cold: the CPU caches no write-combined memory";
  const std::uint64_t bytes = RG_TRY(chain_bytes(params));
  if (memory.gpu() == nullptr) return chain_buffer_words(bytes, last_level_cache_bytes());
  const int cache = memory.gpu()->attribute(cu::kL2CacheBytes).value_or(0);
  return chain_buffer_words(bytes, static_cast<std::uint64_t>(std::max(0, cache)));
}

// Words of 8 bytes in a line; only the first holds an address.
constexpr std::size_t kLineWords = kLineBytes / sizeof(std::uint64_t);

}  // namespace

// Tries from the largest number down, so that the chain fills almost all of the buffer.
std::uint64_t chain_lines(std::uint64_t bytes, std::uint64_t accesses) {
  const std::uint64_t most = bytes / kLineBytes;
  for (std::uint64_t lines = most; lines >= 2; --lines)
    if (std::gcd(lines, accesses) == 1) return lines;
  return most;
}

std::vector<std::uint32_t> chain_order(std::uint64_t lines, bool random, std::uint64_t seed) {
  RG_CHECK(lines >= 2 && lines <= UINT32_MAX);
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0U);
  if (!random) return order;
  // By hand: the library's shuffle is another one in another library.
  std::mt19937_64 generator(seed);
  for (std::uint64_t i = lines - 1; i > 1; --i)
    std::swap(order[i], order[1 + generator() % i]);  // line 0 stays the first
  return order;
}

// The last line points to the first, so that a chase never leaves the buffer.
std::vector<std::uint64_t> chain_words(const std::vector<std::uint32_t>& order,
                                       std::uint64_t address) {
  std::vector<std::uint64_t> words(order.size() * kLineWords);
  for (std::size_t i = 0; i < order.size(); ++i)
    words[order[i] * kLineWords] = address + order[(i + 1) % order.size()] * kLineBytes;
  return words;
}

std::string chain_buffer_words(std::uint64_t bytes, std::uint64_t cache_bytes) {
  if (cache_bytes == 0) return "not known: the size of the cache cannot be read";
  if (bytes >= kColdCaches * cache_bytes) return "cold";
  return fmt::format("hot: a chain of {}, less than twice the cache of {}", canonical_bytes(bytes),
                     canonical_bytes(cache_bytes));
}

Result<std::uint64_t> chain_bytes(const Params& params) {
  const std::uint64_t bytes = params.bytes("buffer");
  if (bytes >= 2 * kLineBytes) return bytes;
  return fail(Code::kInvalidArgument,
              fmt::format("parameter buffer: {} is below {}, two accesses long",
                          canonical_bytes(bytes), 2 * kLineBytes));
}

// A fresh chain is laid in `memory`; the state word of the GPU starts in measure().
Result<Chase> Chase::prepare(const Context& context, const gpu::Gpu& reader, const Area& memory) {
  const Params& params = context.params;
  if (!memory.reachable() && RG_TRY(reader.attribute(cu::kUsesHostPageTables)) == 0)
    return fail(Code::kUnimplemented,
                fmt::format("{}: read pageable memory: the GPU cannot address it; use host_memory "
                            "pinned",
                            reader.name()));
  Chase chase;
  chase.reader_ = &reader;
  chase.address_ = memory.address();
  chase.memory_name_ = memory.name();
  chase.buffer_ = RG_TRY(buffer_words(params, memory));
  chase.multiprocessors_ =
      static_cast<unsigned>(std::max(1, RG_TRY(reader.attribute(cu::kMultiprocessorCount))));
  chase.accesses_ = std::max(1U, static_cast<unsigned>(params.integer("accesses")) /
                                     launches_in_sample(chase.multiprocessors_));
  chase.order_ = chain_order(chain_lines(RG_TRY(chain_bytes(params)), chase.accesses_),
                             params.text("order") == "random", kChainSeed);
  RG_TRY_OK(chase.lay_chain(memory));
  RG_TRY_OK(reader.make_current());
  gpu::keep_context(reader);
  chase.code_ = RG_TRY(gpu::LoadedCode::load(reader, kChaseCode));
  chase.function_ = RG_TRY(chase.code_.function("railgauge_chase"));
  chase.state_ = RG_TRY(gpu::lend_gpu(reader, sizeof(std::uint64_t)));
  return chase;
}

// A tenth of the multiprocessors, rounded up.
unsigned launches_in_sample(unsigned multiprocessors) {
  return (multiprocessors + kRounds - 1) / kRounds;
}

// The launches of a sample are kRounds apart; the next sample begins one further.
unsigned multiprocessor_of(std::uint64_t launch, unsigned multiprocessors) {
  const std::uint64_t launches = launches_in_sample(multiprocessors);
  return static_cast<unsigned>((launch / launches % kRounds + launch % launches * kRounds) %
                               multiprocessors);
}

// Writes the chain by the owner of the memory: the CPU for the host's, a copy for a GPU's.
Status Chase::lay_chain(const Area& memory) const {
  const auto words = chain_words(order_, address_);
  const auto bytes = std::as_bytes(std::span(words));
  if (memory.gpu() == nullptr) {
    std::ranges::copy(bytes, memory.host().begin());
    return {};
  }
  RG_TRY_OK(memory.gpu()->make_current());
  RG_TRY_OK(gpu_status(*memory.gpu(),
                       loaded_cuda().memcpy_htod(address_, bytes.data(), bytes.size()),
                       "copy the chain to it"));
  return settle(*memory.gpu());
}

// Queues one launch: a grid of one block for each multiprocessor, of which one works.
Status Chase::queue(cu::Stream stream, std::uint64_t launch) const {
  cu::DevicePtr state = state_->data();
  unsigned accesses = accesses_;
  unsigned block = multiprocessor_of(launch, multiprocessors_);
  void* arguments[] = {&state, &accesses, &block};  // NOLINT(modernize-avoid-c-arrays)
  return gpu_status(*reader_,
                    loaded_cuda().launch_kernel(function_, multiprocessors_, 1, 1, 1, 1, 1, 0,
                                                stream, arguments, nullptr),
                    "launch the chase");
}

// Samples in batches of a whole round over the multiprocessors. A batch is split evenly behind as
// few gates as the queue allows: each gate's first sample begins on a GPU that idled.
Result<Sampled> Chase::sample(Context& context, gpu::Session& session, Lanes& lanes) const {
  const std::uint64_t launches = launches_in_sample(multiprocessors_);
  const std::uint64_t most = std::max<std::uint64_t>(1, Lanes::kMaxQueued / launches);
  const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
    for (std::uint64_t gates = (count + most - 1) / most; gates > 0; --gates) {
      const std::uint64_t now = (count + gates - 1) / gates;
      const auto passed = RG_TRY(lanes.run({{now, launches}}, context.deadline_monotonic_ns));
      for (const double step : steps_ns(passed.front().marks_ns))
        out.push_back(step / static_cast<double>(launches * accesses_));
      count -= now;
    }
    return {};
  };
  SamplerOptions options = RG_TRY(sampler_options(context.params));
  options.batch = kRounds;
  options.least_batch = kRounds;
  return session.sample(context, options, batch, [&] {
    std::vector<double> not_kept;  // what follows NVML's readings is slow
    return batch(1, not_kept);
  });
}

// One point. The chase continues from sample to sample, so that its end proves all of them.
Status Chase::measure(Context& context, gpu::Session& session, const std::string& pair) {
  RG_TRY_OK(reader_->make_current());
  const std::uint64_t first = address_;
  RG_TRY_OK(gpu_status(*reader_, loaded_cuda().memcpy_htod(state_->data(), &first, sizeof first),
                       "prepare the chase"));
  RG_TRY_OK(settle(*reader_));
  Lanes lanes = RG_TRY(Lanes::create(*reader_));
  RG_TRY_OK(lanes.add(
      *reader_, [this](cu::Stream stream, std::uint64_t launch) { return queue(stream, launch); }));
  RG_TRY_OK(lanes.touch(context.deadline_monotonic_ns));
  const Sampled sampled = RG_TRY(sample(context, session, lanes));
  const bool verified = context.params.boolean("verify");
  if (verified) RG_TRY_OK(verify(lanes.operations(0)));
  Point point =
      make_point({.metric = std::string(kLatencyMetric),
                  .meaning = "dependent_load",
                  .unit = "ns",
                  .larger_is_better = false},
                 sizeof(std::uint64_t), sampled, context.raw_samples, loaded_cuda().synthetic);
  point.set_pair(pair);
  point.set_verified(verified);
  auto& facts = *point.mutable_facts();
  const unsigned launches = launches_in_sample(multiprocessors_);
  facts["buffer"] = buffer_;
  facts["accesses_in_sample"] = std::to_string(launches * accesses_);
  facts["timed_by"] = fmt::format(
      "gpu events; a sample is {} launches on as many multiprocessors, {} samples are on all",
      launches, kRounds);
  session.report(context, std::move(point));
  return {};
}

// Compares the address where the chase ended with the only one where so many accesses lead. A word
// misread anywhere leads elsewhere.
Status Chase::verify(std::uint64_t launches) const {
  std::uint64_t end = 0;
  RG_TRY_OK(reader_->make_current());
  RG_TRY_OK(gpu_status(*reader_, loaded_cuda().memcpy_dtoh(&end, state_->data(), sizeof end),
                       "read where the chase ended"));
  const std::uint64_t position = launches * accesses_ % order_.size();
  const std::uint64_t expected = address_ + order_[position] * kLineBytes;
  if (end == expected) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: chase through memory of {}: {} accesses ended at {:#x}, {:#x} is "
                          "where they lead",
                          reader_->name(), memory_name_, launches * accesses_, end, expected));
}

}  // namespace railgauge::cuda
