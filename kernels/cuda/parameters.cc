// The declarations that several kernels of the family share, each in one place.
#include "kernels/cuda/parameters.h"

namespace railgauge::cuda {

void add_engine(InfoBuilder& builder) {
  builder
      .choice("engine", "",
              "what copies: ce, the GPU's copy engines; sm, its threads; tma, bulk asynchronous "
              "copies through shared memory (compute capability 9.0 and later)",
              {"ce", "sm", "tma"})
      .identity();
}

void add_host_engine(InfoBuilder& builder) {
  builder
      .choice(
          "engine", "",
          "what copies: ce, the GPU's copy engines; sm, its threads; tma, bulk asynchronous "
          "copies through shared memory (compute capability 9.0 and later); sm_again: both ways "
          "between host and GPU each thread moves its word 16 times, as nvbandwidth's",
          {"ce", "sm", "sm_again", "tma"})
      .identity();
}

void add_host_memory(InfoBuilder& builder) {
  builder
      .choice("host_memory", "",
              "the host's memory: pinned, pinned and not cached (write_combined), pageable, or "
              "pinned huge pages of 2 MiB (huge)",
              {"pinned", "write_combined", "pageable", "huge"})
      .identity();
}

void add_bidirectional(InfoBuilder& builder) {
  builder
      .boolean("bidirectional", "copy the other way meanwhile; what is reported stays one way",
               false)
      .identity();
}

// A sample lasts at least 8 ms, so 8 of them suffice for a first interval.
void add_copy_sampling(InfoBuilder& builder) {
  constexpr std::int64_t kMinSamples = 8;
  constexpr std::int64_t kMaxSamples = 10'000;
  constexpr double kMaxCopies = 32;  // fit in every queue, beside loads
  builder.sizes("64MiB")
      .integer("copies", "copies in one sample; 0 chooses as many as last 8 ms", 0, 0, kMaxCopies)
      .choice(
          "buffer", "",
          "hot: the same bytes each time, as nvbandwidth copies; cold: the next bytes of memory "
          "larger than the GPU's L2 cache, so that no copy finds a recent one's in it",
          {"hot", "cold"})
      .identity()
      .sampling("samples", kMinSamples, kMaxSamples)
      .least_time("2s");
}

// One round over the multiprocessors is the least: fewer samples would prefer some of them.
void add_chase(InfoBuilder& builder) {
  constexpr double kMaxBufferBytes = 1U << 30U;
  constexpr double kMaxAccesses = 1e6;
  constexpr std::int64_t kMinSamples = 11;  // one round over the multiprocessors
  constexpr std::int64_t kMaxSamples = 10'000;
  builder
      .bytes("buffer", "the chain's length: one access for each 128 bytes", "2MiB", kMaxBufferBytes)
      .identity()
      .choice("order", "", "the chain's way through the buffer: random, or stride upwards",
              {"random", "stride"})
      .identity()
      .integer("accesses", "dependent accesses in one sample, which several multiprocessors share",
               8192, 1024, kMaxAccesses)
      .sampling("samples", kMinSamples, kMaxSamples);
}

}  // namespace railgauge::cuda
