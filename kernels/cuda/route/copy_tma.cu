// Copies by the bulk asynchronous copies of compute capability 9.0 (TMA): one thread of a block
// moves pieces through shared memory, and no word passes through a register. No header is used.
// Least compute capability: 90
//
// clang-format off
// extern "C" __global__ void railgauge_copy_tma(target, source, bytes (u64))
//     target[0..bytes) = source[0..bytes). Pieces of 16-byte words by bulk copies, where both addresses are aligned to
//     16; the rest, and everything where they are not, by the block's threads. Any launch of one-dimensional blocks.
// clang-format on
using Size = unsigned long long;

namespace {

constexpr Size kWordBytes = 16;
constexpr unsigned kPieceBytes = 8192;
constexpr unsigned kStages = 5;  // pieces of a block under way: 40 KiB of its shared memory

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Begins a piece's way into shared memory; `full` completes when all its bytes are there.
__device__ void begin_load(unsigned full, unsigned stage, const unsigned char* source,
                           unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(stage),
      "l"(source), "r"(bytes), "r"(full)
      : "memory");
}

__device__ void wait_until_full(unsigned full, unsigned parity) {
  unsigned done = 0;
  while (done == 0)
    asm volatile(
        "{\n\t.reg .pred complete;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, complete;\n\t}"
        : "=r"(done)
        : "r"(full), "r"(parity)
        : "memory");
}

// Begins a piece's way out of shared memory, as a group of its own.
__device__ void begin_store(unsigned char* target, unsigned stage, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(target),
               "r"(stage), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Moves the block's share of `pieces`: a load is kStages - 1 pieces ahead of its store.
__device__ void copy_pieces(unsigned char* target, const unsigned char* source, Size bytes,
                            unsigned stages, unsigned full) {
  const Size pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
  if (blockIdx.x >= pieces) return;
  const Size own = (pieces - blockIdx.x + gridDim.x - 1) / gridDim.x;
  const auto offset = [](Size number) { return (blockIdx.x + number * gridDim.x) * kPieceBytes; };
  const auto length = [&](Size number) {
    const Size left = bytes - offset(number);
    return static_cast<unsigned>(left < kPieceBytes ? left : kPieceBytes);
  };
  const auto load = [&](Size number) {
    const unsigned stage = static_cast<unsigned>(number % kStages);
    begin_load(full + stage * 8, stages + stage * kPieceBytes, source + offset(number),
               length(number));
  };
  for (Size number = 0; number + 1 < kStages && number < own; ++number) load(number);
  for (Size number = 0; number < own; ++number) {
    const unsigned stage = static_cast<unsigned>(number % kStages);
    wait_until_full(full + stage * 8, static_cast<unsigned>(number / kStages % 2));
    begin_store(target + offset(number), stages + stage * kPieceBytes, length(number));
    if (number + kStages - 1 >= own) continue;
    // The next load's stage is that of the store before this one, which has to have read it.
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    load(number + kStages - 1);
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace

extern "C" __global__ void railgauge_copy_tma(unsigned char* target, const unsigned char* source,
                                              Size bytes) {
  __shared__ alignas(128) unsigned char stages[kStages * kPieceBytes];
  __shared__ alignas(8) unsigned long long full[kStages];
  const bool aligned = (Size(target) | Size(source)) % kWordBytes == 0;
  const Size whole = aligned ? bytes / kWordBytes * kWordBytes : 0;
  if (threadIdx.x == 0 && whole > 0) {
    for (unsigned stage = 0; stage < kStages; ++stage)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full) + stage * 8)
                   : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    copy_pieces(target, source, whole, shared_address(stages), shared_address(full));
  }
  const Size stride = Size(gridDim.x) * blockDim.x;
  for (Size i = whole + Size(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes; i += stride)
    target[i] = source[i];
}
